/** Removes trees of files by held paths, so that no link that somebody puts in the way leads out of them. */
import { randomUUID } from 'node:crypto';
import { isHostError, isMissing } from './errors.js';
import { type HeldPath, type Host, HostError } from './host.js';
import { mountPointsUnder } from './mount-points.js';

/** How many directories are held at once; what lies deeper is first brought up. */
const depthLimit = 64;
/** Each pass takes that many levels away. */
const passLimit = 1000;

export interface RemoveTreeOptions {
  /** The caller knows that nothing is mounted there; the mount table is long where many pods run. */
  readonly isWithoutMounts?: boolean;
}

/**
 * Removes everything at and below the path without following links; what is not there is fine. Refuses with EBUSY
 * when anything is mounted in it.
 */
export async function removeTree(
  host: Host,
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
    // Once more for what was brought up from below the limit, and then to see that nothing is left.
    for (let pass = 0; pass < passLimit && (await removeContent({ host, root }, root, 0)); pass++);
  } finally {
    await root.close();
  }
  await ignoreMissing(host.files.rmdir(path));
}

interface Removal {
  readonly host: Host;
  readonly root: HeldPath;
}

/** Whether there was anything to remove. */
async function removeContent(removal: Removal, directory: HeldPath, depth: number): Promise<boolean> {
  const { files } = removal.host;
  const names = await files.readdir(directory.procPath);
  for (const name of names) {
    const path = `${directory.procPath}/${name}`;
    if (await removedAsFile(removal.host, path)) continue;
    if (depth === depthLimit) {
      await files.rename(path, `${removal.root.procPath}/..removing-${randomUUID()}`);
      continue;
    }
    const child = await directory.child(name);
    try {
      await removeContent(removal, child, depth + 1);
    } finally {
      await child.close();
    }
    await ignoreMissing(files.rmdir(path));
  }
  return names.length > 0;
}

/** False for a directory, which is left alone. */
async function removedAsFile({ files }: Host, path: string): Promise<boolean> {
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

function mountInTheWay(target: string): HostError {
  return new HostError('EBUSY', target, `cannot delete directory ${target}: it is a mount point`);
}
