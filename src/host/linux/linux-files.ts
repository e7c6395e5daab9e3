/** The machine's files by path. */
import { constants } from 'node:fs';
import { toHostError } from '../errors.js';
import type { HostFiles, WriteFileOptions } from '../host.js';
import { makeDirectories } from './make-directories.js';
import { factsOfStats, fileSystemFacts } from './stats.js';
import { poolCalls, type SystemCalls } from './system-calls.js';

/** File calls through the given system calls. */
export function filesBy(calls: SystemCalls): HostFiles {
  return {
    stat: (path) => attempt(path, async () => factsOfStats(await calls.stat(path))),
    lstat: (path) => attempt(path, async () => factsOfStats(await calls.lstat(path))),
    readFile: (path) => attempt(path, () => calls.readFile(path)),
    writeFile: (path, data, { mode = 0o666, exclusive = false, sync = false, onWritten } = {}) =>
      attempt(path, async () => {
        if (sync) await writeSynced(calls, path, data, { mode, exclusive, onWritten });
        else await calls.writeFile(path, data, mode, exclusive ? 'wx' : 'w');
      }),
    syncDirectory: (path) => attempt(path, () => syncDirectory(calls, path)),
    mkdir: (path, { mode = 0o777, recursive = false } = {}) =>
      attempt(path, () =>
        recursive ? makeDirectories(path, mode, calls.mkdir) : calls.mkdir(path, mode, false),
      ),
    readdir: (path) => attempt(path, () => calls.readdir(path)),
    symlink: (target, path) => attempt(path, () => calls.symlink(target, path)),
    readlink: (path) => attempt(path, () => calls.readlink(path)),
    realpath: (path) => attempt(path, () => calls.realpath(path)),
    rename: (from, to) => attempt(from, () => calls.rename(from, to)),
    unlink: (path) => attempt(path, () => calls.unlink(path)),
    rmdir: (path) => attempt(path, () => calls.rmdir(path)),
    chmod: (path, mode) => attempt(path, () => calls.chmod(path, mode)),
    lchown: (path, uid, gid) => attempt(path, () => calls.lchown(path, uid, gid)),
    statFileSystem: (path) => attempt(path, async () => fileSystemFacts(await calls.statfs(path))),
  };
}

export const linuxFiles: HostFiles = filesBy(poolCalls);

async function writeSynced(
  calls: SystemCalls,
  path: string,
  data: Uint8Array | string,
  { mode, exclusive, onWritten }: Pick<WriteFileOptions, 'onWritten'> & { mode: number; exclusive: boolean },
): Promise<void> {
  const { O_WRONLY, O_CREAT, O_EXCL, O_TRUNC } = constants;
  const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data;
  const file = await calls.open(path, O_WRONLY | O_CREAT | (exclusive ? O_EXCL : O_TRUNC), mode);
  try {
    for (let at = 0; at < bytes.length; ) at += await calls.write(file, bytes.subarray(at));
    onWritten?.();
    await calls.fsync(file);
  } finally {
    await calls.close(file);
  }
}

async function syncDirectory(calls: SystemCalls, path: string): Promise<void> {
  const directory = await calls.open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await calls.fsync(directory);
  } catch (error) {
    // Some file systems lack directory sync: their names are on disk when the change returns.
    if (!(error instanceof Error && 'code' in error && error.code === 'EINVAL')) throw error;
  } finally {
    await calls.close(directory);
  }
}

/** Turns any failure into a HostError about this path. */
export async function attempt<T>(path: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw toHostError(error, path);
  }
}
