/**
 * Makes the directories and files of a pod that its containers and their runtime need.
 *
 * Files in the agent's own directories are made by synchronous calls: a pod needs many small ones, and the
 * thread-pool round trip costs several times the call itself, on cores that the starting pods need.
 */
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorText } from '../../async/index.js';
import { holdBelow, linuxHost, makeDirectoriesSync, readWhole, temporarySuffix } from '../../host/index.js';
import { isMissing } from '../logs/file-error.js';

/** Anything longer than this is not a configuration file. */
const configFileMaxBytes = 10 * 1024 * 1024;
const envFileMaxBytes = 1024 * 1024;

/** Makes a log directory with mode 0755 whatever the umask is: log collectors must be able to enter it. */
export function makeLogDirectory(path: string): void {
  const firstMade = makeDirectoriesSync(path, 0o755);
  if (firstMade !== undefined && (process.umask() & 0o755) !== 0) chmodSync(path, 0o755);
}

/** Reads a file of the node, such as its resolver file. */
export async function readNodeFile(path: string): Promise<string> {
  const file = await open(path, constants.O_RDONLY);
  try {
    return await readAtMost(file, configFileMaxBytes, path);
  } finally {
    await file.close();
  }
}

/** Lets a test simulate a full disk. */
export interface HostsFileCalls {
  readonly write: (file: number, content: Buffer, at: number, length: number, position: number) => number;
}

/**
 * Brings a pod's hosts file to the given content, or leaves it unchanged and says why.
 *
 * An existing file is rewritten in place: running containers have this inode mounted, and would never see a
 * file renamed over it. To keep the time in which they see a half-written file short, equal content is left
 * alone, and the file is truncated after writing, so that it is never empty.
 */
export function writeHostsFile(
  path: string,
  content: string,
  calls: HostsFileCalls = { write: writeSync },
): void {
  const wanted = Buffer.from(content, 'utf8');
  try {
    const file = openHostsFile(path);
    if (file === undefined) createHostsFile(path, wanted, calls);
    else rewriteHostsFile(file, path, wanted, calls);
  } catch (error) {
    // The error of a failed write does not name the file.
    throw new Error(`the hosts file ${path} cannot be written: ${errorText(error)}`, { cause: error });
  }
}

function rewriteHostsFile(file: number, path: string, wanted: Buffer, calls: HostsFileCalls): void {
  try {
    const { size, mode, isRegular } = factsOf(file);
    if (!isRegular) throw new Error(`${path} is not a regular file`);
    if ((mode & 0o777) !== 0o644) fchmodSync(file, 0o644);
    if (size > configFileMaxBytes) ftruncateSync(file, configFileMaxBytes);
    const before = readContent(file, Math.min(size, configFileMaxBytes));
    if (wanted.equals(before)) return;
    try {
      // Reserve the room for longer content with empty lines, while the old content is still whole.
      const growth = Buffer.alloc(Math.max(0, wanted.length - before.length), '\n');
      writeWhole(file, growth, calls, before.length);
      writeWhole(file, wanted, calls, 0);
      ftruncateSync(file, wanted.length);
    } catch (error) {
      restore(file, before, calls);
      throw error;
    }
  } finally {
    closeSync(file);
  }
}

/** The old content needs no new room on the disk. */
function restore(file: number, before: Buffer, calls: HostsFileCalls): void {
  try {
    writeWhole(file, before, calls, 0);
  } catch {
    // The first failure says what is wrong with the disk.
  }
  ftruncateSync(file, before.length);
}

/** Not mounted yet, so it can appear whole or not at all. */
function createHostsFile(path: string, wanted: Buffer, calls: HostsFileCalls): void {
  const temporary = `${path}${temporarySuffix}`;
  rmSync(temporary, { force: true });
  try {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    const file = openIn(temporary, flags);
    try {
      fchmodSync(file, 0o644);
      writeWhole(file, wanted, calls, 0);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, path);
  } catch (error) {
    // On a full disk the partial file would only waste space.
    rmSync(temporary, { force: true });
    throw error;
  }
}

function factsOf(file: number): {
  readonly size: number;
  readonly mode: number;
  readonly isRegular: boolean;
} {
  const stats = fstatSync(file);
  return { size: stats.size, mode: stats.mode, isRegular: stats.isFile() };
}

/** Undefined when there is none. */
function openHostsFile(path: string): number | undefined {
  try {
    return openSync(path, constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function openIn(path: string, flags: number): number {
  try {
    return openSync(path, flags, 0o644);
  } catch (error) {
    if (!isMissing(error)) throw error;
    makeDirectoriesSync(dirname(path), 0o750);
    return openSync(path, flags, 0o644);
  }
}

/** Creates an empty file that every user of a container may write to; each instance gets its own. */
export function createTerminationLog(directory: string): string {
  makeDirectoriesSync(directory, 0o750);
  const path = join(directory, randomBytes(4).toString('hex'));
  const file = openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o666);
  try {
    // The umask applies to open, not to chmod.
    fchmodSync(file, 0o666);
  } finally {
    closeSync(file);
  }
  return path;
}

/**
 * Reads a file in a volume. Links and `..` resolve as if the volume were the root, and each directory on the
 * way is held, as the pod may change its links meanwhile. Pipes and devices are errors.
 */
export async function readVolumeFile(volumeDirectory: string, path: string): Promise<string> {
  const held = await holdBelow(linuxHost(), volumeDirectory, path, { absoluteLinks: 'of the directory' });
  try {
    const { kind } = await held.stat();
    if (kind !== 'file') throw new Error(`"${path}" is not a regular file`);
    const file = await held.openFile();
    try {
      return (await readWhole(file, envFileMaxBytes, path)).toString('utf8');
    } finally {
      await file.close();
    }
  } finally {
    await held.close();
  }
}

async function readAtMost(file: FileHandle, limitBytes: number, name: string): Promise<string> {
  const chunks: Buffer[] = [];
  let total = 0;
  for (;;) {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(16 * 1024), 0, 16 * 1024, null);
    if (bytesRead === 0) return Buffer.concat(chunks).toString('utf8');
    total += bytesRead;
    if (total > limitBytes) throw new Error(`file "${name}" is longer than ${limitBytes} bytes`);
    chunks.push(buffer.subarray(0, bytesRead));
  }
}

function readContent(file: number, sizeBytes: number): Buffer {
  const buffer = Buffer.alloc(sizeBytes);
  let at = 0;
  while (at < sizeBytes) {
    const bytesRead = readSync(file, buffer, at, sizeBytes - at, at);
    if (bytesRead === 0) break;
    at += bytesRead;
  }
  return buffer.subarray(0, at);
}

function writeWhole(file: number, content: Buffer, { write }: HostsFileCalls, position: number): void {
  let at = 0;
  while (at < content.length) at += write(file, content, at, content.length - at, position + at);
}
