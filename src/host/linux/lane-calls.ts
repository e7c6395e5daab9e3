/** System calls made in lanes, for one key. */
import type { DirectoryEntry } from '../host.js';
import type { LaneCall } from './lane.js';
import type { Lanes } from './lanes.js';
import type { FileStats, FileSystemStats, SystemCalls } from './system-calls.js';

/** Listing ids are unique in the process: a replacement lane must not match the old lane's listings. */
let nextListing = 1;

/**
 * Values from a thread have lost their type. Each cast below names the return type of Node's call of that
 * name; the host's contract tests verify it.
 */
export function laneCalls(lanes: Lanes, key: string): SystemCalls {
  const call = (path: string, name: LaneCall, ...inputs: readonly unknown[]): Promise<unknown> =>
    lanes.call(key, path, name, inputs);
  const plain = async (path: string, name: LaneCall, ...inputs: readonly unknown[]): Promise<void> => {
    await call(path, name, ...inputs);
  };
  const bigint = { bigint: true };
  return {
    open: async (path, flags, mode) => (await call(path, 'open', path, flags, mode)) as number,
    close: (descriptor) => plain(key, 'close', descriptor),
    fsync: (descriptor) => plain(key, 'fsync', descriptor),
    fstat: async (descriptor) => (await call(key, 'fstat', descriptor, bigint)) as FileStats,
    read: async (descriptor, buffer, position) => {
      const bytes = (await call(key, 'read', descriptor, buffer.length, position)) as Uint8Array;
      buffer.set(bytes);
      return bytes.length;
    },
    write: async (descriptor, bytes) => (await call(key, 'write', descriptor, bytes)) as number,
    opendir: async (path) => {
      const directory = nextListing++;
      await call(path, 'opendir', path, directory);
      return {
        next: async (limit) =>
          (await call(path, 'nextEntries', directory, limit)) as readonly DirectoryEntry[],
        close: () => plain(path, 'closedir', directory),
      };
    },
    stat: async (path) => (await call(path, 'stat', path, bigint)) as FileStats,
    lstat: async (path) => (await call(path, 'lstat', path, bigint)) as FileStats,
    statfs: async (path) => (await call(path, 'statfs', path, bigint)) as FileSystemStats,
    readFile: async (path) => (await call(path, 'readFile', path)) as Uint8Array,
    writeFile: (path, data, mode, flag) => plain(path, 'writeFile', path, data, { mode, flag }),
    mkdir: (path, mode, recursive) => plain(path, 'mkdir', path, { mode, recursive }),
    readdir: async (path) => (await call(path, 'readdir', path)) as readonly string[],
    symlink: (target, path) => plain(path, 'symlink', target, path),
    readlink: async (path) => (await call(path, 'readlink', path)) as string,
    realpath: async (path) => (await call(path, 'realpath', path)) as string,
    rename: (from, to) => plain(from, 'rename', from, to),
    unlink: (path) => plain(path, 'unlink', path),
    rmdir: (path) => plain(path, 'rmdir', path),
    chmod: (path, mode) => plain(path, 'chmod', path, mode),
    lchown: (path, uid, gid) => plain(path, 'lchown', path, uid, gid),
  };
}
