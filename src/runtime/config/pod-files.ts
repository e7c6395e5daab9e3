/**
 * Makes the directories and files of a pod that its containers and their runtime need.
 *
 * What is made in the agent's own folders is made by synchronous calls: they are many for a pod and small, and a trip
 * to Node's threads and back costs several times what the call itself does, on cores that the starting pods need.
 */
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readSync,
  writeSync,
} from 'node:fs';
import { type FileHandle, open, readlink, realpath } from 'node:fs/promises';
import { dirname, isAbsolute, join, sep } from 'node:path';
import { isMissing } from '../logs/file-error.js';

/** Anything longer than this is not the configuration file it should be. */
const configFileMaxBytes = 10 * 1024 * 1024;
const envFileMaxBytes = 1024 * 1024;
const maxLinks = 40;

/** A log directory with mode 0755 whatever the umask is: log collectors must be able to enter it. */
export function makeLogDirectory(path: string): void {
  const firstMade = mkdirSync(path, { recursive: true, mode: 0o755 });
  if (firstMade !== undefined && (process.umask() & 0o755) !== 0) chmodSync(path, 0o755);
}

/** The text of a file of the node, such as its resolver file. */
export async function readNodeFile(path: string): Promise<string> {
  const file = await open(path, constants.O_RDONLY);
  try {
    return await readAtMost(file, configFileMaxBytes, path);
  } finally {
    await file.close();
  }
}

/**
 * Brings the hosts file of a pod to the given content.
 *
 * The file is rewritten in place: running containers of the pod have this very inode mounted, and
 * one renamed over it would never reach them. What they might see half-written is kept short: equal
 * content is left alone, and the file is cut to its new length after writing, so that it never is empty.
 */
export function writeHostsFile(path: string, content: string): void {
  const file = openHostsFile(path);
  try {
    const wanted = Buffer.from(content, 'utf8');
    const { size, mode } = fstatSync(file);
    if ((mode & 0o777) !== 0o644) fchmodSync(file, 0o644);
    if (size === wanted.length && wanted.equals(readWhole(file, size))) return;
    writeWhole(file, wanted);
    if (size > wanted.length) ftruncateSync(file, wanted.length);
  } finally {
    closeSync(file);
  }
}

function openHostsFile(path: string): number {
  const flags = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW;
  try {
    return openSync(path, flags, 0o644);
  } catch (error) {
    if (!isMissing(error)) throw error;
    mkdirSync(dirname(path), { recursive: true, mode: 0o750 });
    return openSync(path, flags, 0o644);
  }
}

/** An empty file that every user of a container may write to; each instance of a container gets its own. */
export function createTerminationLog(directory: string): string {
  mkdirSync(directory, { recursive: true, mode: 0o750 });
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
 * The text of a file in a volume. Links and `..` are followed as if the volume were all there is. The
 * pod may change its links while this reads, so where the opened file really lies is looked at once
 * more. Pipes and devices are errors.
 */
export async function readVolumeFile(volumeDirectory: string, path: string): Promise<string> {
  const root = await realpath(volumeDirectory);
  const resolved = await resolveWithin(root, path);
  const file = await open(resolved, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  try {
    const real = await realpath(`/proc/self/fd/${file.fd}`);
    if (!real.startsWith(root + sep)) throw new Error(`file "${path}" lies outside of its volume`);
    if (!(await file.stat()).isFile()) throw new Error(`"${path}" is not a regular file`);
    return await readAtMost(file, envFileMaxBytes, path);
  } finally {
    await file.close();
  }
}

/** The path without links, with `root` taken for `/`. */
async function resolveWithin(root: string, path: string): Promise<string> {
  const rest = path.split(sep);
  let resolved: string[] = [];
  let links = 0;
  for (let part = rest.shift(); part !== undefined; part = rest.shift()) {
    if (part === '' || part === '.') continue;
    if (part === '..') {
      resolved.pop();
      continue;
    }
    const target = await readLink(join(root, ...resolved, part));
    if (target === undefined) {
      resolved.push(part);
      continue;
    }
    links += 1;
    if (links > maxLinks) throw new Error(`"${path}" leads through more than ${maxLinks} links`);
    if (isAbsolute(target)) resolved = [];
    rest.unshift(...target.split(sep));
  }
  return join(root, ...resolved);
}

/** Undefined when the path is not a link. */
async function readLink(path: string): Promise<string | undefined> {
  try {
    return await readlink(path);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EINVAL') return undefined;
    throw error;
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

function readWhole(file: number, sizeBytes: number): Buffer {
  const buffer = Buffer.alloc(sizeBytes);
  let at = 0;
  while (at < sizeBytes) {
    const bytesRead = readSync(file, buffer, at, sizeBytes - at, at);
    if (bytesRead === 0) break;
    at += bytesRead;
  }
  return buffer.subarray(0, at);
}

function writeWhole(file: number, content: Buffer): void {
  let at = 0;
  while (at < content.length) at += writeSync(file, content, at, content.length - at, at);
}
