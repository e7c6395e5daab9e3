/** Binds the claims and volumes of manifests, as a controller would in a cluster. */
import type {
  ClaimReference,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  Volume,
} from '../../../kube/index.js';

export interface BoundClaim {
  readonly claim: PersistentVolumeClaim;
  /** Undefined when the claim names none, or a missing one. */
  readonly persistentVolume: PersistentVolume | undefined;
}

/**
 * The claim and its volume with their mutual references completed: either side may name the other, and a
 * claim without a phase is bound when a volume was found this way. A claim without a UID is matched by name.
 */
export function bindClaim(claim: PersistentVolumeClaim, volumes: Iterable<PersistentVolume>): BoundClaim {
  const named = withUid(claim);
  const all = [...volumes];
  const volumeName = claim.spec.volumeName || all.find((volume) => names(volume, named))?.metadata.name;
  const volume = all.find(({ metadata }) => metadata.name === volumeName);
  const phase = claim.status?.phase ?? (volumeName === undefined ? 'Pending' : 'Bound');
  return {
    claim: {
      ...named,
      spec: { ...claim.spec, ...(volumeName === undefined ? {} : { volumeName }) },
      status: { ...claim.status, phase },
    },
    persistentVolume: volume === undefined ? undefined : withClaimRef(volume, named, claim.spec.volumeName),
  };
}

/** The claim of a generic ephemeral volume; without a controller nothing else creates it. */
export function claimFromTemplate(
  pod: Pod,
  { ephemeral }: Volume,
  { namespace, name }: ClaimReference,
): PersistentVolumeClaim | undefined {
  const template = ephemeral?.volumeClaimTemplate;
  if (template === undefined) return undefined;
  const owner = {
    apiVersion: 'v1',
    kind: 'Pod',
    name: pod.metadata.name,
    uid: pod.metadata.uid,
    controller: true,
  };
  return {
    metadata: { ...template.metadata, namespace, name, ownerReferences: [owner] },
    spec: template.spec,
  };
}

function withUid(claim: PersistentVolumeClaim): PersistentVolumeClaim {
  const { namespace, name, uid } = claim.metadata;
  return { ...claim, metadata: { ...claim.metadata, uid: uid || `${namespace}/${name}` } };
}

function names({ spec: { claimRef } }: PersistentVolume, { metadata }: PersistentVolumeClaim): boolean {
  return (
    claimRef !== undefined &&
    claimRef.name === metadata.name &&
    (claimRef.namespace || 'default') === metadata.namespace
  );
}

/** A volume without a claimRef belongs to the claim that names it. */
function withClaimRef(
  volume: PersistentVolume,
  claim: PersistentVolumeClaim,
  nameGiven: string | undefined,
): PersistentVolume {
  const { claimRef } = volume.spec;
  const { namespace = '', name = '', uid = '' } = claim.metadata;
  if (claimRef === undefined) {
    if (!nameGiven) return volume;
    return { ...volume, spec: { ...volume.spec, claimRef: { namespace, name, uid } } };
  }
  const own = names(volume, claim) ? uid : `${claimRef.namespace || 'default'}/${claimRef.name}`;
  return { ...volume, spec: { ...volume.spec, claimRef: { ...claimRef, uid: claimRef.uid || own } } };
}
