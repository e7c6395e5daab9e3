/**
 * Synchronous file calls: the trip to Node's threads takes several times as long as most calls, and starting
 * a pod makes dozens of them.
 */
import {
  chmodSync,
  constants,
  lchownSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmdirSync,
  statfsSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import type { HostFiles, WriteFileOptions } from '../host.js';
import { attempt, linuxFiles } from './linux-files.js';
import { makeDirectoriesSync } from './make-directories.js';
import { factsOfStats, fileSystemFacts } from './stats.js';
import { poolCalls } from './system-calls.js';

export const linuxOwnFiles: HostFiles = {
  stat: (path) => attempt(path, async () => factsOfStats(statSync(path, { bigint: true }))),
  lstat: (path) => attempt(path, async () => factsOfStats(lstatSync(path, { bigint: true }))),
  readFile: (path) => attempt(path, async () => readFileSync(path)),
  writeFile: (path, data, options = {}) => {
    if (options.sync === true) return attempt(path, () => writeSynced(path, data, options));
    const { mode = 0o666, exclusive = false } = options;
    return attempt(path, async () => writeFileSync(path, data, { mode, flag: exclusive ? 'wx' : 'w' }));
  },
  syncDirectory: linuxFiles.syncDirectory,
  mkdir: (path, { mode = 0o777, recursive = false } = {}) =>
    attempt(path, async () => void (recursive ? makeDirectoriesSync(path, mode) : mkdirSync(path, { mode }))),
  readdir: (path) => attempt(path, async () => readdirSync(path)),
  symlink: (target, path) => attempt(path, async () => symlinkSync(target, path)),
  readlink: (path) => attempt(path, async () => readlinkSync(path)),
  realpath: (path) => attempt(path, async () => realpathSync.native(path)),
  rename: (from, to) => attempt(from, async () => renameSync(from, to)),
  unlink: (path) => attempt(path, async () => unlinkSync(path)),
  rmdir: (path) => attempt(path, async () => rmdirSync(path)),
  chmod: (path, mode) => attempt(path, async () => chmodSync(path, mode)),
  lchown: (path, uid, gid) => attempt(path, async () => lchownSync(path, uid, gid)),
  statFileSystem: (path) => attempt(path, async () => fileSystemFacts(statfsSync(path, { bigint: true }))),
};

/**
 * Whoever goes by `onWritten` has not left the event loop until then. A disk may take seconds to sync, which must not block
 * the loop.
 */
async function writeSynced(
  path: string,
  data: Uint8Array | string,
  { mode = 0o666, exclusive = false, onWritten }: WriteFileOptions,
): Promise<void> {
  const { O_WRONLY, O_CREAT, O_EXCL, O_TRUNC } = constants;
  const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data;
  const file = openSync(path, O_WRONLY | O_CREAT | (exclusive ? O_EXCL : O_TRUNC), mode);
  try {
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
    onWritten?.();
    await poolCalls.fsync(file);
  } finally {
    await poolCalls.close(file);
  }
}
