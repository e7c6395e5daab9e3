/** The mount points of further volumes within a volume, which must exist before it becomes read-only. */
import { normalize } from 'node:path/posix';
import { type Pod, podContainers, type VolumeMount } from '../../kube/index.js';

/** Paths relative to the volume, first level of nesting only. */
export function nestedMountPoints(pod: Pod, volumeName: string): string[] {
  const found = new Set<string>();
  for (const { container } of podContainers(pod)) {
    for (const path of nestedIn(container.volumeMounts ?? [], volumeName)) found.add(path);
  }
  return [...found];
}

function* nestedIn(volumeMounts: readonly VolumeMount[], volumeName: string): Generator<string> {
  const all = volumeMounts.map(({ mountPath }) => cleanPath(mountPath)).sort();
  for (const { name, mountPath } of volumeMounts) {
    if (name !== volumeName) continue;
    const own = cleanPath(mountPath);
    // Otherwise directories would be created outside the volume.
    if (own.startsWith('../')) throw new Error(`invalid container mount point ${own}`);
    const prefix = own === '/' ? '/' : `${own}/`;
    let covering: string | undefined;
    for (const path of all) {
      if (!path.startsWith(prefix) || path === prefix) continue;
      if (covering !== undefined && path.startsWith(covering)) continue;
      covering = `${path}/`;
      yield path.slice(prefix.length);
    }
  }
}

function cleanPath(path: string): string {
  return normalize(path).replace(/(?<=.)\/+$/, '');
}
