/**
 * The mounts of a container below its private root.
 *
 * A container without its own file system sees the host's, so a mount is a link at `$NODELET_ROOT/<container
 * path>`, and programs must look for it there. Links do not nest, cannot be read-only, and give a user no
 * access that the host path does not give: for paths closed to the container's user, see `covers.ts`.
 */
import { mkdir, symlink } from 'node:fs/promises';
import { dirname, join, posix } from 'node:path';
import { CriError, type Mount } from '../../cri/index.js';
import { isMissing, linuxHost } from '../../host/index.js';

export interface MountLink {
  /** Absolute and without `..`, as the container sees it. */
  readonly containerPath: string;
  readonly hostPath: string;
}

/** Throws InvalidArgument for what links cannot do. */
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
  // A later mount at the same path hides the earlier one.
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

/** Where a container path is on the host: behind a mount if one holds it, else the same path. */
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

/** Container runtimes create a missing source as a directory. */
async function ensureSource(hostPath: string): Promise<void> {
  // A host path may be on anything, even on a server that does not respond.
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
