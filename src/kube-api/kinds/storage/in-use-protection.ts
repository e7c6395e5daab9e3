/** Claims that pods use, and volumes that claims have, stay until they are free, though somebody deleted them. */
import type { KubeObject, PersistentVolume, PersistentVolumeClaim, Pod } from '../../../kube/types/index.js';

export const claimProtection = 'kubernetes.io/pvc-protection';
export const volumeProtection = 'kubernetes.io/pv-protection';

interface StoredVolumes {
  readonly claims: readonly PersistentVolumeClaim[];
  readonly volumes: readonly PersistentVolume[];
  pods(): readonly Pod[];
}

export interface ReleasedObjects {
  readonly claims: readonly PersistentVolumeClaim[];
  readonly volumes: readonly PersistentVolume[];
}

/** Deleted and no longer in use: their finalizers can go. */
export function releasedObjects({ claims, volumes, pods }: StoredVolumes): ReleasedObjects {
  const ending = claims.filter((claim) => waitsFor(claim, claimProtection));
  const used = ending.length === 0 ? new Set<string>() : usedClaims(pods());
  return {
    claims: ending.filter(({ metadata: { namespace, name } }) => !used.has(`${namespace}/${name}`)),
    volumes: volumes.filter(
      (volume) => waitsFor(volume, volumeProtection) && volume.status?.phase !== 'Bound',
    ),
  };
}

function waitsFor({ metadata }: KubeObject, finalizer: string): boolean {
  return metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).includes(finalizer);
}

/** Pods without a node, and pods that have ended, use nothing. */
function usedClaims(pods: readonly Pod[]): ReadonlySet<string> {
  const used = new Set<string>();
  for (const { metadata, spec, status } of pods) {
    if (!spec.nodeName || status?.phase === 'Succeeded' || status?.phase === 'Failed') continue;
    for (const volume of spec.volumes ?? []) {
      const name =
        volume.persistentVolumeClaim?.claimName ??
        (volume.ephemeral === undefined ? undefined : `${metadata.name}-${volume.name}`);
      if (name !== undefined) used.add(`${metadata.namespace}/${name}`);
    }
  }
  return used;
}

export function withoutFinalizer<T extends KubeObject>(object: T, finalizer: string): T {
  const finalizers = (object.metadata.finalizers ?? []).filter((one) => one !== finalizer);
  return { ...object, metadata: { ...object.metadata, finalizers } };
}
