/** Measures the disk usage of a tree, by held paths and in parts. */
import { throwIfCancelled } from '../async/index.js';
import { isHostError, isMissing } from './errors.js';
import { type DirectoryEntry, type FileFacts, type HeldPath, type Host, HostError } from './host.js';
import { entriesOf } from './list-directory.js';

export interface TreeSize {
  readonly allocatedBytes: number;
  readonly inodes: number;
}

/** Each level holds two descriptors of the process. */
const depthLimit = 200;
/** Maximum number of hard-linked files to remember, so that a pod with very many cannot fill the memory. */
const mostRemembered = 100_000;
const filesAtOnce = 16;

interface Measuring {
  readonly host: Pick<Host, 'files'>;
  readonly top: string;
  readonly device: bigint;
  readonly seen: Set<bigint>;
  readonly signal: AbortSignal | undefined;
  allocatedBytes: number;
  inodes: number;
}

/** The directory and everything below it on the same device. A file with several names counts once; a link counts itself. */
export async function measureTree(
  host: Pick<Host, 'files' | 'hold'>,
  top: string,
  signal?: AbortSignal,
): Promise<TreeSize> {
  const held = await host.hold(top);
  try {
    const facts = await held.stat();
    const { device } = facts;
    const sum: Measuring = { host, top, device, seen: new Set(), signal, allocatedBytes: 0, inodes: 0 };
    if (count(sum, facts) && facts.kind === 'directory') await measureContent(sum, held, 1);
    return { allocatedBytes: sum.allocatedBytes, inodes: sum.inodes };
  } finally {
    await held.close();
  }
}

/** The regular files directly in a directory; zero if it does not exist. */
export async function measureFilesIn(
  host: Pick<Host, 'files' | 'hold'>,
  directory: string,
): Promise<TreeSize> {
  let held: HeldPath;
  try {
    held = await host.hold(directory);
  } catch (error) {
    if (isHostError(error, 'ENOENT', 'ELOOP')) return { allocatedBytes: 0, inodes: 0 };
    throw error;
  }
  let allocatedBytes = 0;
  let inodes = 0;
  try {
    for await (const entries of entriesOf(held)) {
      for (const facts of await factsOfEntries(
        host,
        held,
        entries.filter(({ kind }) => kind === 'file'),
      )) {
        if (facts?.kind !== 'file') continue;
        allocatedBytes += facts.allocatedBytes;
        inodes++;
      }
    }
  } finally {
    await held.close();
  }
  return { allocatedBytes, inodes };
}

async function measureContent(sum: Measuring, directory: HeldPath, depth: number): Promise<void> {
  if (depth > depthLimit) {
    const message = `${sum.top} has directories more than ${depthLimit} levels deep`;
    throw new HostError('ELOOP', sum.top, message);
  }
  for await (const entries of entriesOf(directory)) {
    throwIfCancelled(sum.signal);
    const plain = entries.filter(({ kind }) => kind !== 'directory');
    for (const facts of await factsOfEntries(sum.host, directory, plain)) {
      // A directory that replaced a file since the listing counts next time.
      if (facts !== undefined) count(sum, facts);
    }
    for (const { name, kind } of entries)
      if (kind === 'directory') await measureChild(sum, directory, name, depth);
  }
}

async function measureChild(sum: Measuring, directory: HeldPath, name: string, depth: number): Promise<void> {
  throwIfCancelled(sum.signal);
  let child: HeldPath;
  try {
    child = await directory.child(name);
  } catch (error) {
    // Skips entries removed while counting.
    if (isHostError(error, 'ENOENT', 'ELOOP')) return;
    throw error;
  }
  try {
    const facts = await child.stat();
    if (count(sum, facts) && facts.kind === 'directory') await measureContent(sum, child, depth + 1);
  } finally {
    await child.close();
  }
}

/** Returns whether the entry counts. */
function count(sum: Measuring, { device, inode, links, kind, allocatedBytes }: FileFacts): boolean {
  if (device !== sum.device || sum.seen.has(inode)) return false;
  sum.allocatedBytes += allocatedBytes;
  sum.inodes++;
  if (kind !== 'directory' && links > 1 && sum.seen.size < mostRemembered) sum.seen.add(inode);
  return true;
}

/** Undefined for entries that are gone. */
async function factsOfEntries(
  { files }: Pick<Host, 'files'>,
  directory: HeldPath,
  entries: readonly DirectoryEntry[],
): Promise<readonly (FileFacts | undefined)[]> {
  const found: (FileFacts | undefined)[] = [];
  for (let start = 0; start < entries.length; start += filesAtOnce) {
    const looks = entries
      .slice(start, start + filesAtOnce)
      .map(({ name }) => files.lstat(`${directory.procPath}/${name}`).catch(ifGone));
    found.push(...(await Promise.all(looks)));
  }
  return found;
}

function ifGone(error: unknown): undefined {
  if (!isMissing(error)) throw error;
}
