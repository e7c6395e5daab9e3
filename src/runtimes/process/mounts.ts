/**
 * The mounts of a container below its private root.
 *
 * Without a file system of its own a container sees that of the host, so a mount is a link at
 * `$NODELET_ROOT/<container path>`, and programs must look for it there. Links do not nest, cannot
 * be read-only, and give a user no right that the host path does not give: where the way to that is
 * closed to the container's user, see `covers.ts`.
 */
import { mkdir, symlink } from 'node:fs/promises';
import { dirname, join, posix } from 'node:path';
import { CriError, type Mount } from '../../cri/index.js';
import { isMissing, linuxHost } from '../../host/index.js';

export interface MountLink {
  /** Absolute and without `..`, as the container is told it. */
  readonly containerPath: string;
  readonly hostPath: string;
}

/** Fails with InvalidArgument on what cannot be had by links. */
export function planMounts(
  mounts: readonly Pick<Mount, 'containerPath' | 'hostPath' | 'image'>[],
): MountLink[] {
  const links = mounts.map(({ containerPath, hostPath, image }) => {
    if (image !== undefined) {
      throw new CriError(
        'InvalidArgument',
        `mount ${containerPath}: there are no image volumes without images`,
      );
    }
    const normal = posix.join('/', containerPath).replace(/\/+$/, '');
    if (normal === '')
      throw new CriError('InvalidArgument', `mount "${containerPath}": the root cannot be mounted`);
    return { containerPath: normal, hostPath };
  });
  // A later mount at the same place hides the earlier one.
  const byPath = new Map(links.map((link) => [link.containerPath, link]));
  for (const { containerPath } of byPath.values()) {
    const outer = parents(containerPath).find((parent) => byPath.has(parent));
    if (outer !== undefined) {
      throw new CriError(
        'InvalidArgument',
        `mount ${containerPath} is inside of mount ${outer}: the process runtime links mounts and cannot nest them; ` +
          'mount it elsewhere or use a container runtime',
      );
    }
  }
  return [...byPath.values()];
}

/** Where a path of the container is on the host: behind a mount if one holds it, else the same path. */
export function hostPathOf(path: string, links: readonly MountLink[], root: string): string {
  const normal = posix.join('/', path);
  const mounted = links.some(
    ({ containerPath }) => normal === containerPath || normal.startsWith(`${containerPath}/`),
  );
  return mounted ? join(root, normal) : path;
}

export async function linkMounts(links: readonly MountLink[], root: string): Promise<void> {
  for (const { containerPath, hostPath } of links) {
    await ensureSource(hostPath);
    const path = join(root, containerPath);
    await mkdir(dirname(path), { recursive: true });
    await symlink(hostPath, path);
  }
}

/** Container runtimes make a directory of a source that is not there. */
async function ensureSource(hostPath: string): Promise<void> {
  // A path of the machine may lie on anything, a server that does not answer among it.
  const { files } = linuxHost().apart(hostPath);
  try {
    await files.stat(hostPath);
  } catch (error) {
    if (!isMissing(error)) throw error;
    await files.mkdir(hostPath, { recursive: true, mode: 0o755 });
  }
}

function parents(path: string): string[] {
  const found: string[] = [];
  for (let parent = posix.dirname(path); parent !== '/'; parent = posix.dirname(parent)) found.push(parent);
  return found;
}
