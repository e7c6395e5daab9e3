/** The rules by which a pod may use a claim and its volume, wherever the two objects come from. */
import type { PersistentVolume, PersistentVolumeClaim } from '../types/persistent-volume.js';
import type { Pod } from '../types/pod.js';
import type { Volume } from '../types/volume.js';

export interface ClaimReference {
  readonly namespace: string;
  readonly name: string;
  readonly readOnly: boolean;
  /** The claim was made for this pod alone and must be owned by it. */
  readonly isEphemeral: boolean;
}

/** The claim that a pod's volume names; undefined when it names none. */
export function claimReference(pod: Pod, volume: Volume): ClaimReference | undefined {
  const namespace = pod.metadata.namespace;
  if (volume.persistentVolumeClaim !== undefined) {
    const { claimName, readOnly = false } = volume.persistentVolumeClaim;
    return { namespace, name: claimName, readOnly, isEphemeral: false };
  }
  if (volume.ephemeral === undefined) return undefined;
  return { namespace, name: `${pod.metadata.name}-${volume.name}`, readOnly: false, isEphemeral: true };
}

/** Wraps a claim's problem as users see it. */
export function claimError({ namespace, name }: ClaimReference, message: string, cause?: unknown): Error {
  return new Error(
    `error processing PVC ${namespace}/${name}: ${message}`,
    cause === undefined ? {} : { cause },
  );
}

/** Why the pod cannot use the claim; undefined when it can. That it belongs to another pod is told without the wrapping of other problems. */
export function claimProblem(
  claim: PersistentVolumeClaim,
  pod: Pod,
  reference: ClaimReference,
): Error | undefined {
  const { metadata, spec, status } = claim;
  if (reference.isEphemeral && !isControlledBy(claim, pod)) {
    const { namespace, name } = reference;
    return new Error(
      `PVC ${namespace}/${name} was not created for pod ${pod.metadata.namespace}/${pod.metadata.name} (pod is not owner)`,
    );
  }
  const isProtected = metadata.finalizers?.includes('kubernetes.io/pvc-protection') ?? false;
  if (metadata.deletionTimestamp !== undefined && !isProtected)
    return claimError(reference, 'PVC is being deleted');
  if (status?.phase !== 'Bound') return claimError(reference, 'PVC is not bound');
  if (!spec.volumeName) return claimError(reference, 'PVC has empty pvc.Spec.VolumeName');
  return undefined;
}

/** What is wrong between a claim and the volume that it names; undefined when they match. */
export function bindingProblem(
  claim: PersistentVolumeClaim,
  { metadata, spec }: PersistentVolume,
): string | undefined {
  const found = `found PV object ${metadata.name}`;
  if (spec.claimRef === undefined) {
    return `${found} but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim`;
  }
  const [claimed = '', own = ''] = [spec.claimRef.uid, claim.metadata.uid];
  if (claimed === own) return undefined;
  return `${found} but its pv.Spec.ClaimRef.UID ${claimed} does not point to claim.UID ${own}`;
}

/** The group for containers from a volume's annotation; undefined when that is not a number. */
export function volumeGroup({ metadata }: PersistentVolume): number | undefined {
  const text = metadata.annotations?.['pv.beta.kubernetes.io/gid'];
  return text !== undefined && /^\d{1,10}$/.test(text) ? Number(text) : undefined;
}

function isControlledBy({ metadata }: PersistentVolumeClaim, pod: Pod): boolean {
  const controller = metadata.ownerReferences?.find((owner) => owner.controller === true);
  return controller !== undefined && controller.uid === pod.metadata.uid;
}
