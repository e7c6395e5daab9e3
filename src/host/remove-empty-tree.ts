/** Removes a tree of empty directories, by held paths: anything else in it may be someone's data, and stays. */
import { isMissing } from './errors.js';
import { type HeldPath, type Host, HostError } from './host.js';
import { entriesOf } from './list-directory.js';
import { mountInTheWay, requireAboveInMount } from './remove-tree.js';

/** Nobody who leaves empty directories behind nests them deeper, and each level holds a descriptor. */
const depthLimit = 64;
/** A listing may miss names while others are removed. */
const passLimit = 1000;

/**
 * Removes the directory with the directories in it; a missing path is fine. Follows no link, enters no mount, and stops
 * at anything that is not a directory (ENOTEMPTY). What it removed until then stays removed.
 */
export async function removeEmptyTree(host: Pick<Host, 'files' | 'hold'>, path: string): Promise<void> {
  let top: HeldPath;
  try {
    top = await host.hold(path);
  } catch (error) {
    if (isMissing(error)) return;
    throw error;
  }
  try {
    const mountId = await top.mountId();
    await requireAboveInMount(host, path, mountId);
    await removeContent({ files: host.files, mountId }, top, path, 0);
  } finally {
    await top.close();
  }
  await removeDirectory(host, path);
}

interface EmptyTreeRemoval extends Pick<Host, 'files'> {
  readonly mountId: number;
}

async function removeContent(
  removal: EmptyTreeRemoval,
  directory: HeldPath,
  path: string,
  depth: number,
): Promise<void> {
  if ((await directory.stat()).kind !== 'directory') throw inTheWay(path);
  if ((await directory.mountId()) !== removal.mountId) throw mountInTheWay(path);
  if (depth > depthLimit) throw inTheWay(path);
  for (let pass = 0, found = true; found && pass < passLimit; pass++) {
    found = false;
    for await (const part of entriesOf(directory)) {
      found = true;
      for (const { name, kind } of part) {
        const entry = `${path}/${name}`;
        // Holding a link fails anyway; this error says more.
        if (kind !== 'directory') throw inTheWay(entry);
        const child = await directory.child(name);
        try {
          await removeContent(removal, child, entry, depth + 1);
        } finally {
          await child.close();
        }
        await removeDirectory(removal, `${directory.procPath}/${name}`);
      }
    }
  }
}

async function removeDirectory({ files }: Pick<Host, 'files'>, path: string): Promise<void> {
  try {
    await files.rmdir(path);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

function inTheWay(path: string): HostError {
  return new HostError('ENOTEMPTY', path, `${path} is in the way; remove it if nothing needs it`);
}
