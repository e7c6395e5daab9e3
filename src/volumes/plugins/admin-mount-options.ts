/** The mount options that the administrator wrote in a persistent volume; a pod has no say in them. */
import type { VolumeSpec } from '../contracts.js';

/** One option each. An entry may hold several, as in `hard,nfsvers=4.1`; a comma within double quotes parts nothing. */
export function adminMountOptions(spec: VolumeSpec): readonly string[] {
  if (spec.kind !== 'persistent') return [];
  return (spec.persistentVolume.spec.mountOptions ?? []).flatMap(
    (entry) => entry.match(/(?:"[^"]*"|[^,])+/g) ?? [],
  );
}
