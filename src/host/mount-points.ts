/** What is done with mount points on any machine: telling them, and removing them without touching what they show. */
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

/** Whether looking at a mount point failed because what is behind it is gone. */
export function isCorruptedMount(error: unknown): boolean {
  return isHostError(error, ...corruptedCodes);
}

/** The path as the mount table names it: its folder without links, its own name as it stands. */
export async function nameInMountTable(files: HostFiles, path: string): Promise<string> {
  const trimmed = path.replace(/(?<=.)\/+$/, '');
  const slash = trimmed.lastIndexOf('/');
  const folder = await files.realpath(trimmed.slice(0, slash) || '/');
  return folder === '/' ? trimmed.slice(slash) : `${folder}${trimmed.slice(slash)}`;
}

/** Whether something is mounted at this very path, by the mount table; false for a path that is not there. */
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

/** The mounts at and below a path, the ones to be unmounted first at the front. */
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
 * Unmounts all that is mounted at and below a path. What a mount shows stays where it comes from: a copy of a shared
 * mount of the machine is cut off from it first, as the original would lose what is unmounted below the copy. Returns
 * where something was mounted.
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

/** Unmounts what is mounted at the path, if anything, with what is mounted in that, and removes the folder or file that it was mounted on, which must be empty. */
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
