/** Asks the machine's file systems how full they are, and waits for none of them long. */
import { type Clock, sleep } from '../../async/index.js';
import type { Host } from '../../host/index.js';
import {
  type FilledFileSystem,
  type MountedFileSystem,
  mayHang,
  shownFileSystems,
} from './mounted-file-systems.js';

const longestMs = 2_000;
/** Asked at the same time. */
const batch = 16;

type AskedHost = Pick<Host, 'mounts' | 'apart'> & { readonly files: Pick<Host['files'], 'statFileSystem'> };

/** Those that do not answer are left out. */
export async function filledFileSystems(
  host: AskedHost,
  clock: Clock,
  rootDir: string,
): Promise<FilledFileSystem[]> {
  const mounts = await host.mounts.list();
  const shown = shownFileSystems(mounts, rootDir);
  const found: FilledFileSystem[] = [];
  for (let at = 0; at < shown.length; at += batch) {
    const some = await Promise.all(
      shown.slice(at, at + batch).map((each) => {
        // A thread for each that is the kernel's own memory would cost more than all the rest of a scrape.
        const { files } = mayHang(mounts, each.target) ? host.apart(each.target) : host;
        return filledOrNone(files, clock, each);
      }),
    );
    found.push(...some.flatMap((each) => each ?? []));
  }
  return found;
}

async function filledOrNone(
  files: AskedHost['files'],
  clock: Clock,
  mounted: MountedFileSystem,
): Promise<FilledFileSystem | undefined> {
  const answered = new AbortController();
  const late = sleep(clock, longestMs, answered.signal).catch(() => undefined);
  const facts = files.statFileSystem(mounted.target).catch(() => undefined);
  const first = await Promise.race([facts, late]);
  answered.abort();
  await late;
  // Kernel file systems without blocks say nothing.
  if (first === undefined || first.blocks === 0) return undefined;
  const { blockBytes, blocks, freeBlocks, inodes, freeInodes } = first;
  return {
    ...mounted,
    usedBytes: (blocks - freeBlocks) * blockBytes,
    capacityBytes: blocks * blockBytes,
    inodes,
    inodesFree: freeInodes,
  };
}
