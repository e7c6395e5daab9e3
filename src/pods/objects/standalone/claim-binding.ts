/** Brings claims and volumes of manifests together, as a controller would do it in a cluster. */
import type {
  ClaimReference,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  Volume,
} from '../../../kube/index.js';

export interface BoundClaim {
  readonly claim: PersistentVolumeClaim;
  /** Undefined when the claim names none, or one that is not there. */
  readonly persistentVolume: PersistentVolume | undefined;
}

/**
 * The claim and its volume with what each says of the other completed: either side may name the other, and a claim
 * that says nothing of its phase is bound when a volume was found this way. A claim without a UID goes by its name.
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

/** The claim that a generic ephemeral volume asks for; without a controller nobody else makes it. */
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

/** A volume that says nothing of claims belongs to the claim that names it. */
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
