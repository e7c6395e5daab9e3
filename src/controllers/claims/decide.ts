/** Decides which volume a claim gets, and what becomes of a volume whose claim is gone. */
import {
  claimReference,
  matchesNodeSelectorTerms,
  type Node,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  quantityUnits,
  type StorageClass,
  selectorMatches,
} from '../../kube/index.js';
import { selectedNodeAnnotation } from '../node-binder/volume-fit.js';
import { isControlledBy } from '../ownership/owner-references.js';
import { isFinished } from '../pods/pod-facts.js';

export type ClaimDecision =
  | { readonly kind: 'none' }
  | { readonly kind: 'bind'; readonly volume: PersistentVolume }
  /** Its volume is gone, or belongs to another claim. */
  | { readonly kind: 'lost'; readonly message: string }
  | { readonly kind: 'wait'; readonly reason: string; readonly message: string };

export interface ClaimBindingInput {
  readonly claim: PersistentVolumeClaim;
  readonly volumes: readonly PersistentVolume[];
  readonly storageClass: StorageClass | undefined;
  readonly node: Node | undefined;
}

const noProvisioner = 'kubernetes.io/no-provisioner';

export function decideClaim(input: ClaimBindingInput): ClaimDecision {
  const { claim, volumes, storageClass } = input;
  const { volumeName } = claim.spec;
  if (claim.metadata.deletionTimestamp !== undefined) return { kind: 'none' };
  if (volumeName) {
    const volume = volumes.find(({ metadata }) => metadata.name === volumeName);
    if (volume === undefined) {
      return claim.status?.phase === 'Bound'
        ? { kind: 'lost', message: 'Bound claim has lost its PersistentVolume. Data on the volume is lost!' }
        : { kind: 'wait', reason: 'FailedBinding', message: `volume "${volumeName}" does not exist` };
    }
    if (isOf(volume, claim)) return { kind: 'bind', volume };
    if (volume.spec.claimRef === undefined) {
      const problem = mismatch(input, volume);
      if (problem === undefined) return { kind: 'bind', volume };
      return {
        kind: 'wait',
        reason: 'VolumeMismatch',
        message: `Cannot bind to requested volume "${volumeName}": ${problem}`,
      };
    }
    return {
      kind: 'wait',
      reason: 'FailedBinding',
      message: `volume "${volumeName}" already bound to a different claim.`,
    };
  }
  const reserved = volumes.find((volume) => isOf(volume, claim));
  if (reserved !== undefined) return { kind: 'bind', volume: reserved };
  const waits = storageClass?.volumeBindingMode === 'WaitForFirstConsumer';
  if (waits && claim.metadata.annotations?.[selectedNodeAnnotation] === undefined)
    return {
      kind: 'wait',
      reason: 'WaitForFirstConsumer',
      message: 'waiting for first consumer to be created before binding',
    };
  const fitting = volumes
    .filter((volume) => volume.spec.claimRef === undefined && mismatch(input, volume) === undefined)
    .sort((a, b) => sizeOf(a) - sizeOf(b) || ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1));
  const [smallest] = fitting;
  if (smallest !== undefined) return { kind: 'bind', volume: smallest };
  const { provisioner = '' } = storageClass ?? {};
  if (storageClass !== undefined && provisioner !== noProvisioner)
    return {
      kind: 'wait',
      reason: 'ProvisioningFailed',
      message: `no volume matches the claim, and this node runs no provisioner "${provisioner}"; create a PersistentVolume of class "${storageClass.metadata.name}"`,
    };
  return {
    kind: 'wait',
    reason: 'FailedBinding',
    message: 'no persistent volumes available for this claim and no storage class is set',
  };
}

/** Whether the volume is reserved for the claim; a reservation without a UID is for whoever has the name. */
export function isOf({ spec }: PersistentVolume, { metadata }: PersistentVolumeClaim): boolean {
  const { claimRef } = spec;
  if (claimRef === undefined) return false;
  const isNamed = claimRef.name === metadata.name && claimRef.namespace === metadata.namespace;
  return isNamed && (claimRef.uid === undefined || claimRef.uid === metadata.uid);
}

/** Whether the pod keeps the claim alive. The claim of an ephemeral volume may be that of a former pod of the same name. */
export function usesClaim(pod: Pod, claim: PersistentVolumeClaim): boolean {
  if (isFinished(pod)) return false;
  return (pod.spec.volumes ?? []).some((volume) => {
    const reference = claimReference(pod, volume);
    if (reference?.name !== claim.metadata.name) return false;
    return reference?.isEphemeral !== true || isControlledBy(claim, pod);
  });
}

/** Why the claim cannot have the volume. */
function mismatch({ claim, node }: ClaimBindingInput, volume: PersistentVolume): string | undefined {
  const { spec, metadata, status } = volume;
  if (metadata.deletionTimestamp !== undefined) return 'it is being deleted';
  if (status?.phase === 'Released' || status?.phase === 'Failed') return `it is ${status.phase}`;
  if ((spec.storageClassName ?? '') !== (claim.spec.storageClassName ?? ''))
    return 'storageClassName does not match';
  if ((spec.volumeMode ?? 'Filesystem') !== (claim.spec.volumeMode ?? 'Filesystem'))
    return 'incompatible volumeMode';
  const modes = spec.accessModes ?? [];
  if (!(claim.spec.accessModes ?? []).every((mode) => modes.includes(mode))) return 'incompatible accessMode';
  if (sizeOf(volume) < quantityUnits(claim.spec.resources?.requests?.storage))
    return 'requested PV is too small';
  if (claim.spec.selector !== undefined && !selected(claim, volume))
    return 'its labels do not match the selector';
  const terms = spec.nodeAffinity?.required?.nodeSelectorTerms;
  if (terms === undefined || node === undefined) return undefined;
  const identity = { name: node.metadata.name ?? '', labels: node.metadata.labels ?? {} };
  return matchesNodeSelectorTerms(terms, identity)
    ? undefined
    : "the node does not match the volume's node affinity";
}

function selected({ spec }: PersistentVolumeClaim, { metadata }: PersistentVolume): boolean {
  try {
    return selectorMatches(spec.selector, metadata.labels ?? {});
  } catch {
    // An operator that does not exist matches nothing.
    return false;
  }
}

function sizeOf({ spec }: PersistentVolume): number {
  return quantityUnits(spec.capacity?.storage);
}

export type VolumeDecision =
  | { readonly kind: 'phase'; readonly phase: string; readonly message?: string }
  /** Only the object goes: what it names on the machine stays. */
  | { readonly kind: 'delete' };

/** `claim`: the claim that the volume is reserved for, if it exists. */
export function decideVolume(
  volume: PersistentVolume,
  claim: PersistentVolumeClaim | undefined,
): VolumeDecision {
  const { claimRef, persistentVolumeReclaimPolicy: policy = 'Retain' } = volume.spec;
  if (claimRef === undefined) return { kind: 'phase', phase: 'Available' };
  if (claimRef.uid === undefined) return { kind: 'phase', phase: 'Available' };
  if (claim !== undefined && claim.metadata.uid === claimRef.uid) return { kind: 'phase', phase: 'Bound' };
  if (policy === 'Delete') return { kind: 'delete' };
  if (policy === 'Recycle')
    return {
      kind: 'phase',
      phase: 'Failed',
      message: 'This node does not recycle volumes; use Retain or Delete',
    };
  return { kind: 'phase', phase: 'Released' };
}
