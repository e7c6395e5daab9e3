/** Decides whether and to which size this node expands a volume, and what its claim then says. */
import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  type PersistentVolumeClaimStatus,
  quantityValue,
  tryParseQuantity,
} from '../../kube/index.js';
import type { ExpandOutcome } from '../contracts.js';

const notRequiredAnnotation = 'volume.kubernetes.io/node-expansion-not-required';
const resizeConditions: ReadonlySet<string> = new Set([
  'Resizing',
  'FileSystemResizePending',
  'ControllerResizeError',
  'NodeResizeError',
]);

type Amounts = Readonly<Record<string, string | number>>;

/** Zero for what is absent or no size. */
export function storageBytes(amounts: Amounts | undefined): bigint {
  const text = amounts?.storage;
  const quantity = text === undefined ? undefined : tryParseQuantity(text);
  return quantity === undefined ? 0n : quantityValue(quantity);
}

/**
 * How the claim is kept up to date: `plain`: by its capacity alone, as controllers without recovery do it; `recovery`:
 * by the state of the expansion, too; `none`: another node has done so already.
 */
export type ClaimUpkeep = 'plain' | 'recovery' | 'none';

export type ExpansionDecision = { readonly because: string } & (
  | {
      readonly kind: 'expand';
      readonly targetBytes: bigint;
      /** The same as the cluster writes it. */
      readonly targetText: string;
      readonly upkeep: ClaimUpkeep;
    }
  /** Nothing to do at this size. */
  | { readonly kind: 'done'; readonly sizeBytes: bigint }
  /** Not this node's turn; the claim must change first. */
  | { readonly kind: 'later' }
);

/** For a PersistentVolume that has grown. */
export function decideExpansion(
  { metadata, spec, status = {} }: PersistentVolumeClaim,
  { spec: { capacity } }: Pick<PersistentVolume, 'spec'>,
): ExpansionDecision {
  const state = status.allocatedResourceStatuses?.storage;
  if (state === undefined && status.allocatedResources === undefined) {
    const because = 'the PersistentVolume has grown';
    return { ...target(capacity), upkeep: 'plain', because };
  }
  const expand = target(status.allocatedResources);
  if (state === 'NodeResizePending' || state === 'NodeResizeInProgress') {
    return { ...expand, upkeep: 'recovery', because: `the claim is ${state}` };
  }
  if (state !== undefined && state !== '') return { kind: 'later', because: `the claim is ${state}` };
  if (storageBytes(status.capacity) < expand.targetBytes) {
    return { kind: 'later', because: 'the storage of the claim is not allocated yet' };
  }
  const isShared = spec.accessModes?.includes('ReadWriteMany') === true;
  if (isShared && metadata.annotations?.[notRequiredAnnotation] === undefined) {
    const because = 'another node has expanded it, and this one uses it, too';
    return { ...expand, upkeep: 'none', because };
  }
  return { kind: 'done', sizeBytes: expand.targetBytes, because: 'the claim has its size already' };
}

function target(amounts: Amounts | undefined): {
  readonly kind: 'expand';
  readonly targetBytes: bigint;
  readonly targetText: string;
} {
  return { kind: 'expand', targetBytes: storageBytes(amounts), targetText: String(amounts?.storage ?? '0') };
}

/** The status of a claim whose volume this node begins to expand. */
export function inProgressStatus({ status = {} }: PersistentVolumeClaim): PersistentVolumeClaimStatus {
  const allocatedResourceStatuses = { ...status.allocatedResourceStatuses, storage: 'NodeResizeInProgress' };
  return { ...status, allocatedResourceStatuses };
}

export type ExpansionResult = {
  /** What the claim should say now; undefined: as it does. */
  readonly status: PersistentVolumeClaimStatus | undefined;
} & (
  | { readonly kind: 'done'; readonly sizeBytes: bigint; readonly isExpanded: boolean }
  /** It cannot grow while it is used, and works as it is. */
  | { readonly kind: 'in-use' }
  | { readonly kind: 'failed'; readonly message: string }
);

export interface ExpansionEnd {
  readonly claim: PersistentVolumeClaim;
  readonly decision: Extract<ExpansionDecision, { kind: 'expand' }>;
  readonly outcome: ExpandOutcome;
  /** Whether an earlier expansion of the volume was refused. */
  readonly wasRefused: boolean;
  /** As the API writes it. */
  readonly now: string;
}

export function expansionResult({
  claim,
  decision,
  outcome,
  wasRefused,
  now,
}: ExpansionEnd): ExpansionResult {
  const { targetBytes: sizeBytes, upkeep } = decision;
  const isRecovery = upkeep === 'recovery';
  switch (outcome.kind) {
    case 'expanded': {
      const isBehind = upkeep === 'plain' && storageBytes(claim.status?.capacity) < sizeBytes;
      const status = isRecovery || isBehind ? finishedStatus(claim, decision) : undefined;
      return { kind: 'done', sizeBytes, isExpanded: true, status };
    }
    case 'unsupported': {
      const { message } = outcome;
      if (!isRecovery) return { kind: 'done', sizeBytes, isExpanded: false, status: undefined };
      return { kind: 'failed', message, status: failedStatus(claim, message, now) };
    }
    case 'failed': {
      const { cause, message } = outcome;
      const isWritten = isRecovery && cause !== 'unregistered';
      const status = isWritten ? failedStatus(claim, message, now) : undefined;
      if (cause === 'in-use') return { kind: 'in-use', status };
      const isSizeGivenUp = storageBytes(claim.spec.resources?.requests) !== sizeBytes;
      const isInfeasible = cause === 'infeasible' || (cause === 'refused' && wasRefused && isSizeGivenUp);
      return {
        kind: 'failed',
        message,
        status: status !== undefined && isInfeasible ? infeasible(status) : status,
      };
    }
  }
}

function finishedStatus(
  { status = {} }: PersistentVolumeClaim,
  { targetText }: ExpansionEnd['decision'],
): PersistentVolumeClaimStatus {
  const { allocatedResourceStatuses = {}, conditions = [], ...others } = status;
  const { storage: _, ...states } = allocatedResourceStatuses;
  return {
    ...others,
    ...(Object.keys(states).length === 0 ? {} : { allocatedResourceStatuses: states }),
    capacity: { ...status.capacity, storage: targetText },
    conditions: conditions.filter(({ type }) => !resizeConditions.has(type)),
  };
}

/** A condition that is there already stays as it is: its text is the first of these failures. */
function failedStatus(
  { status = {} }: PersistentVolumeClaim,
  message: string,
  now: string,
): PersistentVolumeClaimStatus {
  const { conditions = [] } = status;
  const isTold = conditions.some(({ type, status: is }) => type === 'NodeResizeError' && is === 'True');
  if (isTold) return status;
  const condition = {
    type: 'NodeResizeError',
    status: 'True',
    lastTransitionTime: now,
    message: `failed to expand pvc with ${message}`,
  };
  return {
    ...status,
    conditions: [...conditions.filter(({ type }) => type !== 'NodeResizeError'), condition],
  };
}

function infeasible(status: PersistentVolumeClaimStatus): PersistentVolumeClaimStatus {
  const states = { ...status.allocatedResourceStatuses, storage: 'NodeResizeInfeasible' };
  return { ...status, allocatedResourceStatuses: states };
}
