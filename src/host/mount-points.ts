/** Finds mount points on any machine, and removes them without touching what is mounted. */
import { isHostError, isMissing } from './errors.js';
import type { Host, HostFiles, MountPoint } from './host.js';

const corruptedCodes = [
  'ENOTCONN',
  'ESTALE',
  'EIO',
  'EACCES',
  'EHOSTDOWN',
  'EAGAIN',
  'EWOULDBLOCK',
  'ENODEV',
];

/** Whether accessing a mount point failed because its file system is gone. */
export function isCorruptedMount(error: unknown): boolean {
  return isHostError(error, ...corruptedCodes);
}

/** The path as the mount table names it: its parent resolved, its own name unchanged. */
export async function nameInMountTable(files: HostFiles, path: string): Promise<string> {
  const trimmed = path.replace(/(?<=.)\/+$/, '');
  const slash = trimmed.lastIndexOf('/');
  const dir = await files.realpath(trimmed.slice(0, slash) || '/');
  return dir === '/' ? trimmed.slice(slash) : `${dir}${trimmed.slice(slash)}`;
}

/** Whether the mount table has a mount at this very path; false for a missing path. */
export async function isMountPoint(host: Host, path: string): Promise<boolean> {
  return (await mountAt(host, path)) !== undefined;
}

/** The topmost mount at this very path. */
export async function mountAt(host: Host, path: string): Promise<MountPoint | undefined> {
  let name: string;
  try {
    name = await nameInMountTable(host.files, path);
  } catch (error) {
    if (isHostError(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  }
  return (await host.mounts.list(name)).findLast(({ target }) => target === name);
}

/** The mounts at and below a path, in the order to unmount them. */
export async function mountPointsUnder(
  host: Pick<Host, 'files' | 'mounts'>,
  path: string,
): Promise<readonly MountPoint[]> {
  let name: string;
  try {
    name = await nameInMountTable(host.files, path);
  } catch (error) {
    if (isHostError(error, 'ENOENT', 'ENOTDIR')) return [];
    throw error;
  }
  const prefix = name === '/' ? '/' : `${name}/`;
  const mounts = await host.mounts.list(name);
  return mounts.filter(({ target }) => target === name || target.startsWith(prefix)).toReversed();
}

/**
 * Unmounts everything at and below a path and returns where something was mounted. The mounted content stays
 * intact: a copy of a shared mount is made private first, or the original would lose its mounts, too.
 */
export async function unmountTree(
  host: Host,
  path: string,
  options: CleanMountPointOptions = {},
): Promise<readonly string[]> {
  const targets = (await mountPointsUnder(host, path)).map(({ target }) => target);
  for (const outer of new Set(targets)) {
    if (!targets.some((target) => target.startsWith(`${outer}/`))) continue;
    await host.mounts.mount({ target: outer, options: ['private'] });
  }
  for (const target of targets) await host.mounts.unmount(target, options);
  return targets;
}

export interface CleanMountPointOptions {
  readonly force?: boolean;
  readonly timeoutMs?: number;
}

/**
 * Unmounts the mount at the path, if any, with everything mounted in it, and removes the mount point itself, an
 * empty directory or file.
 */
export async function cleanMountPoint(
  host: Host,
  path: string,
  options: CleanMountPointOptions = {},
): Promise<void> {
  if (await isMountPoint(host, path)) await unmountTree(host, path, options);
  try {
    const { kind } = await host.files.lstat(path);
    if (kind === 'directory') await host.files.rmdir(path);
    else await host.files.unlink(path);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}
