/** The system calls behind all file operations, the same whichever thread makes them. */
import {
  type BigIntStats,
  type BigIntStatsFs,
  close as closeCallback,
  type Dir,
  fstat as fstatCallback,
  fsync as fsyncCallback,
  open as openCallback,
  read as readCallback,
  write as writeCallback,
} from 'node:fs';
import {
  chmod,
  lchown,
  lstat,
  mkdir,
  opendir,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rmdir,
  stat,
  statfs,
  symlink,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { promisify } from 'node:util';
import type { DirectoryEntry } from '../host.js';
import { entryOf } from './stats.js';

/** The fields used of a file's stats; their methods exist only in the thread that made the call. */
export type FileStats = Pick<
  BigIntStats,
  'mode' | 'uid' | 'gid' | 'size' | 'blocks' | 'mtimeMs' | 'dev' | 'ino' | 'nlink'
>;
export type FileSystemStats = Pick<
  BigIntStatsFs,
  'bsize' | 'blocks' | 'bfree' | 'bavail' | 'files' | 'ffree'
> & {
  /** The unit of the blocks, in versions of Node that tell it. */
  readonly frsize?: bigint;
};

/** A directory being read. */
export interface OpenDirectory {
  next(limit: number): Promise<readonly DirectoryEntry[]>;
  close(): Promise<void>;
}

/** Each call fails with the error of Node's own. Descriptors are numbers, valid in every thread of the process. */
export interface SystemCalls {
  open(path: string, flags: number, mode?: number): Promise<number>;
  close(descriptor: number): Promise<void>;
  fstat(descriptor: number): Promise<FileStats>;
  read(descriptor: number, buffer: Uint8Array, position: number): Promise<number>;
  /** Writes at the descriptor's position; returns the number of bytes written. */
  write(descriptor: number, bytes: Uint8Array): Promise<number>;
  fsync(descriptor: number): Promise<void>;
  opendir(path: string): Promise<OpenDirectory>;
  stat(path: string): Promise<FileStats>;
  lstat(path: string): Promise<FileStats>;
  statfs(path: string): Promise<FileSystemStats>;
  readFile(path: string): Promise<Uint8Array>;
  writeFile(path: string, data: Uint8Array | string, mode: number, flag: string): Promise<void>;
  mkdir(path: string, mode: number, recursive: boolean): Promise<void>;
  readdir(path: string): Promise<readonly string[]>;
  symlink(target: string, path: string): Promise<void>;
  readlink(path: string): Promise<string>;
  realpath(path: string): Promise<string>;
  rename(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
  rmdir(path: string): Promise<void>;
  chmod(path: string, mode: number): Promise<void>;
  lchown(path: string, uid: number, gid: number): Promise<void>;
}

const open = promisify(openCallback);
const close = promisify(closeCallback);
const fstat = promisify(fstatCallback);
const fsync = promisify(fsyncCallback);
const read = promisify(readCallback);
const write = promisify(writeCallback);

/**
 * Calls in Node's thread pool. Its four threads serve the whole process, so these are only for local file
 * systems, which respond.
 */
export const poolCalls: SystemCalls = {
  open,
  close,
  fstat: (descriptor) => fstat(descriptor, { bigint: true }),
  read: async (descriptor, buffer, position) =>
    (await read(descriptor, buffer, 0, buffer.length, position)).bytesRead,
  write: async (descriptor, bytes) => (await write(descriptor, bytes, 0, bytes.length, null)).bytesWritten,
  fsync,
  opendir: async (path) => poolReading(await opendir(path, { bufferSize: 256 })),
  stat: (path) => stat(path, { bigint: true }),
  lstat: (path) => lstat(path, { bigint: true }),
  statfs: (path) => statfs(path, { bigint: true }),
  readFile: (path) => readFile(path),
  writeFile: (path, data, mode, flag) => writeFile(path, data, { mode, flag }),
  mkdir: async (path, mode, recursive) => {
    await mkdir(path, { mode, recursive });
  },
  readdir: (path) => readdir(path),
  symlink: (target, path) => symlink(target, path),
  readlink: (path) => readlink(path),
  realpath: (path) => realpath(path),
  rename,
  unlink,
  rmdir,
  chmod,
  lchown,
};

function poolReading(directory: Dir): OpenDirectory {
  return {
    next: async (limit) => {
      const entries: DirectoryEntry[] = [];
      while (entries.length < limit) {
        const entry = await directory.read();
        if (entry === null) break;
        entries.push(entryOf(entry));
      }
      return entries;
    },
    close: () => directory.close(),
  };
}
