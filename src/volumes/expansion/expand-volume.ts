/** Expands a volume on this node, and keeps the status of its claim true at every step. */
import { type Clock, errorText } from '../../async/index.js';
import {
  formatTimestamp,
  goQuote,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
} from '../../kube/index.js';
import type { ClaimKey, ClaimStatuses, ExpandOutcome, VolumePlugin, VolumeSpec } from '../contracts.js';
import {
  decideExpansion,
  type ExpansionDecision,
  type ExpansionResult,
  expansionResult,
  inProgressStatus,
  storageBytes,
} from './expansion-decision.js';
import type { VolumeSizes } from './volume-sizes.js';

export interface ExpansionSubject {
  readonly uniqueName: string;
  readonly innerName: string;
  readonly pod: Pod;
  readonly spec: Extract<VolumeSpec, { kind: 'persistent' }>;
  readonly claim: ClaimKey;
}

export interface ExpansionPorts {
  readonly clock: Clock;
  readonly statuses: ClaimStatuses;
  readonly sizes: VolumeSizes;
  /** Told to users of the pod and of the claim. */
  readonly tell: (
    subject: ExpansionSubject,
    type: 'Normal' | 'Warning',
    reason: 'FileSystemResizeSuccessful' | 'FileSystemResizeFailed',
    message: string,
  ) => void;
}

/** `later`: it is not this node's turn, and nothing was done. */
export type ExpansionEffect = 'done' | 'later';

/** For a volume that has just been mounted: expands it if its claim is smaller than its PersistentVolume. */
export async function expandMounted(
  ports: ExpansionPorts,
  plugin: VolumePlugin,
  subject: ExpansionSubject,
  signal: AbortSignal,
): Promise<void> {
  if (plugin.expand === undefined || ports.sizes.isInUse(subject.uniqueName)) return;
  const claim = await readClaim(ports, subject, signal);
  const { persistentVolume, readOnly } = subject.spec;
  if (storageBytes(claim.status?.capacity) >= storageBytes(persistentVolume.spec.capacity)) return;
  if (readOnly) {
    const message = `MountVolume.NodeExpandVolume failed for volume ${goQuote(subject.innerName)} requested read-only file system`;
    ports.tell(subject, 'Warning', 'FileSystemResizeFailed', message);
    return;
  }
  await expand(ports, plugin, subject, claim, signal);
}

/** For a volume in use whose PersistentVolume has grown. */
export async function expandInUse(
  ports: ExpansionPorts,
  plugin: VolumePlugin,
  subject: ExpansionSubject,
  signal: AbortSignal,
): Promise<ExpansionEffect> {
  try {
    return await expand(ports, plugin, subject, await readClaim(ports, subject, signal), signal);
  } catch (error) {
    throw new Error(
      `NodeExpandVolume.NodeExpandVolume failed for volume ${goQuote(subject.innerName)} : ${errorText(error)}`,
      { cause: error },
    );
  }
}

async function readClaim(
  { statuses }: ExpansionPorts,
  { claim }: ExpansionSubject,
  signal: AbortSignal,
): Promise<PersistentVolumeClaim> {
  return statuses.read(claim, signal).catch((error: unknown) => {
    throw new Error(`mountVolume.NodeExpandVolume get PVC failed : ${errorText(error)}`, { cause: error });
  });
}

async function expand(
  ports: ExpansionPorts,
  plugin: VolumePlugin,
  subject: ExpansionSubject,
  read: PersistentVolumeClaim,
  signal: AbortSignal,
): Promise<ExpansionEffect> {
  const { sizes, statuses, clock } = ports;
  const { uniqueName } = subject;
  const decision = decideExpansion(read, volumeOf(subject));
  if (decision.kind === 'later') return 'later';
  if (decision.kind === 'done') return reached(sizes, subject, decision.sizeBytes);
  const claim =
    decision.upkeep === 'recovery'
      ? await statuses.write(read, inProgressStatus(read), { ifUnchanged: true, signal })
      : read;
  const outcome = await driven(ports, plugin, subject, decision, signal);
  const result = expansionResult({
    claim,
    decision,
    outcome,
    wasRefused: sizes.wasRefused(uniqueName),
    now: formatTimestamp(clock.now()),
  });
  if (outcome.kind === 'failed' && (outcome.cause === 'refused' || outcome.cause === 'infeasible')) {
    sizes.refused(uniqueName);
  }
  if (result.kind === 'in-use') sizes.inUse(uniqueName);
  if (result.kind === 'done' && result.isExpanded) {
    const { nodeName = '' } = subject.pod.spec;
    const message = `MountVolume.NodeExpandVolume succeeded for volume ${goQuote(subject.innerName)} ${nodeName}`;
    ports.tell(subject, 'Normal', 'FileSystemResizeSuccessful', message);
  }
  if (result.kind === 'failed') throw await failedExpansion(ports, claim, result, signal);
  if (result.status !== undefined) {
    await statuses.write(claim, result.status, { ifUnchanged: result.kind === 'done', signal });
  }
  return result.kind === 'done' ? reached(sizes, subject, result.sizeBytes) : 'done';
}

/** Users see the failure of the driver and, if the claim does not show it, why not. */
async function failedExpansion(
  { statuses }: ExpansionPorts,
  claim: PersistentVolumeClaim,
  { message, status }: Extract<ExpansionResult, { kind: 'failed' }>,
  signal: AbortSignal,
): Promise<Error> {
  if (status === undefined) return new Error(message);
  try {
    await statuses.write(claim, status, { ifUnchanged: false, signal });
    return new Error(message);
  } catch (error) {
    const unwritten = `the claim could not be told: ${errorText(error)}`;
    return new Error(`${message}; ${unwritten}`, { cause: error });
  }
}

/** A claim may ask for less than the PersistentVolume has grown to, and for more of it later. */
function reached(sizes: VolumeSizes, subject: ExpansionSubject, sizeBytes: bigint): ExpansionEffect {
  sizes.reached(subject.uniqueName, sizeBytes);
  return sizeBytes < storageBytes(volumeOf(subject).spec.capacity) ? 'later' : 'done';
}

/** A driver that has done its work is not asked again when only the claim could not be written. */
async function driven(
  { sizes }: ExpansionPorts,
  plugin: VolumePlugin,
  { uniqueName, spec, pod }: ExpansionSubject,
  { targetBytes }: Extract<ExpansionDecision, { kind: 'expand' }>,
  signal: AbortSignal,
): Promise<ExpandOutcome> {
  if (sizes.isDriven(uniqueName, targetBytes)) return { kind: 'expanded' };
  if (plugin.expand === undefined)
    return { kind: 'unsupported', message: `${plugin.name} does not expand volumes` };
  const outcome = await plugin.expand({ spec, podUid: pod.metadata.uid, sizeBytes: targetBytes, signal });
  if (outcome.kind === 'expanded') sizes.driven(uniqueName, targetBytes);
  return outcome;
}

function volumeOf({ spec }: ExpansionSubject): PersistentVolume {
  return spec.persistentVolume;
}
