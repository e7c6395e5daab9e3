/** Converts the kernel's file facts to the port's types. */
import { constants, type Dirent } from 'node:fs';
import type { DirectoryEntry, FileFacts, FileKind, FileSystemFacts } from '../host.js';
import type { FileStats, FileSystemStats } from './system-calls.js';

/** The unit of `stat`, whatever the file system's block size. */
const statBlockBytes = 512n;

export function factsOfStats(stats: FileStats): FileFacts {
  return {
    kind: kindOfMode(Number(stats.mode)),
    mode: Number(stats.mode & 0o7777n),
    uid: Number(stats.uid),
    gid: Number(stats.gid),
    sizeBytes: Number(stats.size),
    allocatedBytes: Number(stats.blocks * statBlockBytes),
    modifiedMs: Number(stats.mtimeMs),
    device: stats.dev,
    inode: stats.ino,
    links: Number(stats.nlink),
  };
}

export function kindOfMode(mode: number): FileKind {
  switch (mode & constants.S_IFMT) {
    case constants.S_IFDIR:
      return 'directory';
    case constants.S_IFLNK:
      return 'symlink';
    case constants.S_IFSOCK:
      return 'socket';
    case constants.S_IFIFO:
      return 'fifo';
    case constants.S_IFCHR:
      return 'character-device';
    case constants.S_IFBLK:
      return 'block-device';
    default:
      return 'file';
  }
}

/** Blocks are counted in fragments, which are as large as blocks but on a few file systems; older Nodes do not tell them. */
export function blockBytesOf<N extends number | bigint>(stats: {
  readonly bsize: N;
  readonly frsize?: N;
}): N {
  return stats.frsize || stats.bsize;
}

export function fileSystemFacts(stats: FileSystemStats): FileSystemFacts {
  return {
    blockBytes: Number(blockBytesOf(stats)),
    blocks: Number(stats.blocks),
    freeBlocks: Number(stats.bfree),
    availableBlocks: Number(stats.bavail),
    inodes: Number(stats.files),
    freeInodes: Number(stats.ffree),
  };
}

export function entryOf(entry: Dirent): DirectoryEntry {
  return { name: entry.name, kind: kindOfEntry(entry) };
}

function kindOfEntry(entry: Dirent): FileKind {
  if (entry.isDirectory()) return 'directory';
  if (entry.isSymbolicLink()) return 'symlink';
  if (entry.isSocket()) return 'socket';
  if (entry.isFIFO()) return 'fifo';
  if (entry.isCharacterDevice()) return 'character-device';
  return entry.isBlockDevice() ? 'block-device' : 'file';
}
