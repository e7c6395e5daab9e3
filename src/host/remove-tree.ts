/** Removes trees by held paths, so that no planted link leads out of them. */
import { randomUUID } from 'node:crypto';
import { isHostError, isMissing } from './errors.js';
import { type DirectoryEntry, type HeldPath, type Host, HostError } from './host.js';
import { mountPointsUnder } from './mount-points.js';

/** Maximum number of directories held at once; deeper ones are first moved up. */
const depthLimit = 64;
/** Each pass removes that many levels. */
const passLimit = 1000;
/** Files removed at a time: enough to keep Node's threads busy while leaving room for others. */
const filesAtOnce = 16;

export interface RemoveTreeOptions {
  /** The caller knows that nothing is mounted there; reading the mount table is slow where many pods run. */
  readonly isWithoutMounts?: boolean;
}

/**
 * Removes everything at and below the path without following links; a missing path is fine. Refuses with
 * EBUSY if anything is mounted in it, and stops at mounts made meanwhile: a directory is entered only if it
 * lies in its parent's mount.
 */
export async function removeTree(
  host: Pick<Host, 'files' | 'hold' | 'mounts'>,
  path: string,
  { isWithoutMounts = false }: RemoveTreeOptions = {},
): Promise<void> {
  const [mount] = isWithoutMounts ? [] : await mountPointsUnder(host, path);
  if (mount !== undefined) throw mountInTheWay(mount.target);
  if (await removedAsFile(host, path)) return;
  let root: HeldPath;
  try {
    root = await host.hold(path);
  } catch (error) {
    if (isMissing(error)) return;
    throw error;
  }
  try {
    const removal = { host, root, mountId: await root.mountId() };
    await requireAboveInMount(host, path, removal.mountId);
    // Repeats for directories moved up from below the limit, and once more to confirm that nothing is left.
    for (let pass = 0; pass < passLimit && (await removeContent(removal, root, path, 0)); pass++);
  } finally {
    await root.close();
  }
  await ignoreMissing(host.files.rmdir(path));
}

interface TreeRemoval {
  readonly host: Pick<Host, 'files'>;
  readonly root: HeldPath;
  /** The mount that must hold the whole tree. */
  readonly mountId: number;
}

/** Rejects a mount placed on the tree itself after the mount table was read. */
export async function requireAboveInMount(
  { hold, files }: Pick<Host, 'hold' | 'files'>,
  path: string,
  id: number,
): Promise<void> {
  const trimmed = path.replace(/(?<=.)\/+$/, '');
  const above = await hold(await files.realpath(trimmed.slice(0, trimmed.lastIndexOf('/')) || '/'));
  try {
    if ((await above.mountId()) !== id) throw mountInTheWay(path);
  } finally {
    await above.close();
  }
}

/** Returns whether there was anything to remove. */
async function removeContent(
  removal: TreeRemoval,
  directory: HeldPath,
  path: string,
  depth: number,
): Promise<boolean> {
  let found = false;
  const listing = await openToRemove(removal, directory);
  try {
    for (let part = await listing.next(); part.length > 0; part = await listing.next()) {
      found = true;
      await removeEntries(removal, { directory, path, depth }, part);
    }
  } finally {
    await listing.close();
  }
  return found;
}

async function openToRemove({ host: { files } }: TreeRemoval, directory: HeldPath) {
  const { kind, mode } = await directory.stat();
  // A container may have made a directory unreadable for its own user, and so for an agent that is not root.
  if (kind === 'directory' && (mode & 0o700) !== 0o700) await files.chmod(directory.procPath, 0o700);
  return await directory.openDirectory();
}

interface DirectoryLevel {
  readonly directory: HeldPath;
  /** The path for error messages. */
  readonly path: string;
  readonly depth: number;
}

async function removeEntries(
  removal: TreeRemoval,
  level: DirectoryLevel,
  entries: readonly DirectoryEntry[],
): Promise<void> {
  const { directory } = level;
  const directories: string[] = [];
  for (let start = 0; start < entries.length; start += filesAtOnce) {
    const removed = entries.slice(start, start + filesAtOnce).map(async ({ name }) => {
      if (!(await removedAsFile(removal.host, `${directory.procPath}/${name}`))) directories.push(name);
    });
    await allDone(removed);
  }
  for (const name of directories) await removeDirectory(removal, level, name);
}

async function removeDirectory(
  removal: TreeRemoval,
  { directory, path, depth }: DirectoryLevel,
  name: string,
): Promise<void> {
  const { files } = removal.host;
  const way = `${directory.procPath}/${name}`;
  const child = await directory.child(name).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  // Somebody else removes the same tree.
  if (child === undefined) return;
  try {
    if ((await child.mountId()) !== removal.mountId) throw mountInTheWay(`${path}/${name}`);
    if (depth === depthLimit) {
      await files.rename(way, `${removal.root.procPath}/..removing-${randomUUID()}`);
      return;
    }
    await removeContent(removal, child, `${path}/${name}`, depth + 1);
  } finally {
    await child.close();
  }
  await ignoreMissing(files.rmdir(way));
}

/** Rejects with the first failure once all calls have settled. */
async function allDone(calls: readonly Promise<void>[]): Promise<void> {
  for (const result of await Promise.allSettled(calls)) if (result.status === 'rejected') throw result.reason;
}

/** False for a directory, which is left alone. */
async function removedAsFile({ files }: Pick<Host, 'files'>, path: string): Promise<boolean> {
  try {
    await files.unlink(path);
    return true;
  } catch (error) {
    if (isMissing(error)) return true;
    if (isHostError(error, 'EISDIR', 'EPERM')) return false;
    throw error;
  }
}

async function ignoreMissing(call: Promise<void>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

export function mountInTheWay(target: string): HostError {
  return new HostError('EBUSY', target, `cannot delete directory ${target}: it is a mount point`);
}
