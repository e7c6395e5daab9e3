/** Makes the mount that holds a path recursively shared, so that mounts below it reach other mount namespaces. */
import { type Host, HostError, type MountPoint } from './host.js';

/**
 * Idempotent, even after a crash between its two steps. Fails with EBUSY where the bind would hide mounts: nobody
 * could unmount them any more, and their mount points could not be removed.
 */
export async function makeShared(
  { files, mounts }: Pick<Host, 'files' | 'mounts'>,
  path: string,
): Promise<void> {
  const real = await files.realpath(path);
  const all = await mounts.list();
  const holder = mountHolding(all, real);
  if (holder?.propagation === 'shared') return;
  if (holder?.target !== real) {
    const below = all.find(({ target }) => target.startsWith(`${real}/`));
    if (below !== undefined) throw new HostError('EBUSY', real, hiding(real, below.target));
    await mounts.mount({ source: real, target: real, options: ['bind'] });
  }
  await mounts.mount({ target: real, options: ['rshared'] });
}

function hiding(path: string, target: string): string {
  return `cannot bind ${path} on itself to share it: that would hide the mount at ${target}; unmount it, or share the mount that holds ${path}`;
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
