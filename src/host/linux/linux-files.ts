/** The files of this machine through Node's own calls. */
import type { BigIntStats } from 'node:fs';
import {
  chmod,
  lchown,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rmdir,
  stat,
  symlink,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { toHostError } from '../errors.js';
import type { FileFacts, FileKind, HostFiles } from '../host.js';

export const linuxFiles: HostFiles = {
  stat: (path) => attempt(path, async () => factsOfStats(await stat(path, { bigint: true }))),
  lstat: (path) => attempt(path, async () => factsOfStats(await lstat(path, { bigint: true }))),
  readFile: (path) => attempt(path, () => readFile(path)),
  writeFile: (path, data, { mode = 0o666, exclusive = false } = {}) =>
    attempt(path, () => writeFile(path, data, { mode, flag: exclusive ? 'wx' : 'w' })),
  mkdir: (path, { mode = 0o777, recursive = false } = {}) =>
    attempt(path, async () => {
      await mkdir(path, { mode, recursive });
    }),
  readdir: (path) => attempt(path, () => readdir(path)),
  symlink: (target, path) => attempt(path, () => symlink(target, path)),
  readlink: (path) => attempt(path, () => readlink(path)),
  realpath: (path) => attempt(path, () => realpath(path)),
  rename: (from, to) => attempt(from, () => rename(from, to)),
  unlink: (path) => attempt(path, () => unlink(path)),
  rmdir: (path) => attempt(path, () => rmdir(path)),
  chmod: (path, mode) => attempt(path, () => chmod(path, mode)),
  lchown: (path, uid, gid) => attempt(path, () => lchown(path, uid, gid)),
};

/** Whatever fails is a HostError about this path. */
export async function attempt<T>(path: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw toHostError(error, path);
  }
}

export function factsOfStats(stats: BigIntStats): FileFacts {
  return {
    kind: kindOf(stats),
    mode: Number(stats.mode & 0o7777n),
    uid: Number(stats.uid),
    gid: Number(stats.gid),
    sizeBytes: Number(stats.size),
    device: stats.dev,
    inode: stats.ino,
    links: Number(stats.nlink),
  };
}

function kindOf(stats: BigIntStats): FileKind {
  if (stats.isDirectory()) return 'directory';
  if (stats.isSymbolicLink()) return 'symlink';
  if (stats.isSocket()) return 'socket';
  if (stats.isFIFO()) return 'fifo';
  if (stats.isCharacterDevice()) return 'character-device';
  return stats.isBlockDevice() ? 'block-device' : 'file';
}
