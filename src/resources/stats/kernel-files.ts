/** Reads files of the kernel: at once, whole, and no more than they can hold. */
import {
  closeSync,
  constants,
  type Dirent,
  fstatSync,
  opendirSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  statSync,
} from 'node:fs';
import { type StatsLimits, statsLimits } from './limits.js';

/** What is not there, or goes away while it is read, is undefined or empty: a cgroup or a process may end at any time. */
export interface KernelFiles {
  read(path: string): string | undefined;
  /** The same for a file of a cgroup, which has short lines in ASCII. */
  readCgroupFile(path: string): string | undefined;
  /** Opens such a file, to read it again and again; undefined if it is not there. */
  keep(path: string): KeptFile | undefined;
  /** The names of the first entries, no more than `limit`. */
  names(path: string, limit: number): readonly string[];
  /** Those among the first entries, as many as there may be cgroups. */
  directories(path: string): readonly string[];
  link(path: string): string | undefined;
  modifiedMs(path: string): number | undefined;
  /** How many names it has; a directory also has one for each directory in it. */
  links(path: string): number | undefined;
}

/** A file of a cgroup or of a process that stays open. */
export interface KeptFile {
  /** As it is now. Undefined when the cgroup or the process is gone, also if another one has its name by now. */
  read(): string | undefined;
  close(): void;
}

/** Synchronous: these files are the kernel's memory. */
export function linuxKernelFiles({ fileBytes }: Pick<StatsLimits, 'fileBytes'>): KernelFiles {
  // Grows to what the largest file needed, up to the limit.
  let buffer = Buffer.allocUnsafe(Math.min(16 * 1024, fileBytes));
  const whole = (descriptor: number): string => {
    let length = 0;
    for (;;) {
      if (length === buffer.length) {
        if (length === fileBytes) return buffer.toString('utf8', 0, length);
        const larger = Buffer.allocUnsafe(Math.min(2 * buffer.length, fileBytes));
        buffer.copy(larger);
        buffer = larger;
      }
      const count = readSync(descriptor, buffer, length, buffer.length - length, length);
      if (count === 0) return buffer.toString('utf8', 0, length);
      length += count;
    }
  };
  const opened = (path: string, read: (descriptor: number) => string): string | undefined =>
    ifThere(() => {
      const descriptor = openSync(path, constants.O_RDONLY);
      try {
        return read(descriptor);
      } finally {
        closeSync(descriptor);
      }
    });
  const short = (descriptor: number): string => {
    const count = readSync(descriptor, buffer, 0, buffer.length, 0);
    return count < wholeBelowBytes ? buffer.toString('latin1', 0, count) : whole(descriptor);
  };
  return {
    read: (path) => opened(path, whole),
    readCgroupFile: (path) => opened(path, short),
    keep: (path) =>
      ifThere(() => {
        const descriptor = openSync(path, constants.O_RDONLY);
        if (fstatSync(descriptor).size > 0) {
          // No file of the kernel: its text would stay after its removal.
          closeSync(descriptor);
          return { read: () => opened(path, short), close: () => {} };
        }
        return { read: () => ifThere(() => short(descriptor)), close: () => closeSync(descriptor) };
      }),
    names: (path, limit) => ifThere(() => namesIn(path, limit)) ?? [],
    directories: (path) =>
      ifThere(() => directoriesIn(path, statsLimits.cgroups))
        ?.filter((entry) => entry.isDirectory())
        .map(({ name }) => name) ?? [],
    link: (path) => ifThere(() => readlinkSync(path)),
    modifiedMs: (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs,
    links: (path) => ifThere(() => statSync(path, { throwIfNoEntry: false })?.nlink),
  };
}

/** The kernel fills a page with whole lines, so less than this, with short lines, is all that there is. */
const wholeBelowBytes = 3072;

/** Kernels from 6.2 tell the number of a process's open files as the size: few of them are listed by one quick call. */
function namesIn(path: string, limit: number): string[] {
  const { size } = statSync(path);
  if (size > 0 && size <= limit) return readdirSync(path).slice(0, limit);
  return firstEntries(path, limit).map(({ name }) => name);
}

/** A directory has a link for its name, its own `.` and the `..` of each directory in it; some file systems do not count. */
function directoriesIn(path: string, limit: number): Dirent[] {
  const { nlink } = statSync(path);
  if (nlink === 2) return [];
  return nlink > 2 && nlink <= limit ? readdirSync(path, { withFileTypes: true }) : firstEntries(path, limit);
}

/** Names per call of the kernel. */
const listedAtOnce = 256;

function firstEntries(path: string, limit: number): Dirent[] {
  const directory = opendirSync(path, { bufferSize: listedAtOnce });
  try {
    const entries: Dirent[] = [];
    while (entries.length < limit) {
      const entry = directory.readSync();
      if (entry === null) break;
      entries.push(entry);
    }
    return entries;
  } finally {
    directory.closeSync();
  }
}

function ifThere<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
