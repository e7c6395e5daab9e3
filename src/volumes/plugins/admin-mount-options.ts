/** The administrator's mount options in a persistent volume; a pod cannot set them. */
import type { VolumeSpec } from '../contracts.js';

/** One option each. An entry may hold several, as in `hard,nfsvers=4.1`; a comma within double quotes does not separate. */
export function adminMountOptions(spec: VolumeSpec): readonly string[] {
  if (spec.kind !== 'persistent') return [];
  return (spec.persistentVolume.spec.mountOptions ?? []).flatMap(
    (entry) => entry.match(/(?:"[^"]*"|[^,])+/g) ?? [],
  );
}
