/** Makes the mount that holds a path recursively shared, so that mounts below it reach other mount namespaces. */
import type { Host, MountPoint } from './host.js';

/** Idempotent, even after a crash between its two steps. */
export async function makeShared(
  { files, mounts }: Pick<Host, 'files' | 'mounts'>,
  path: string,
): Promise<void> {
  const real = await files.realpath(path);
  const holder = mountHolding(await mounts.list(), real);
  if (holder?.propagation === 'shared') return;
  if (holder?.target !== real) await mounts.mount({ source: real, target: real, options: ['bind'] });
  await mounts.mount({ target: real, options: ['rshared'] });
}

/** The mount that holds a path without links; the topmost if several share a target. */
export function mountHolding(mounts: readonly MountPoint[], path: string): MountPoint | undefined {
  let holder: MountPoint | undefined;
  for (const mount of mounts) {
    const holds = mount.target === '/' || mount.target === path || path.startsWith(`${mount.target}/`);
    if (holds && mount.target.length >= (holder?.target.length ?? 0)) holder = mount;
  }
  return holder;
}
