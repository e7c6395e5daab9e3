/** The files of cgroup mounts as a port: the kernel on one side, a directory tree that behaves like it on the other. */
import {
  closeSync,
  constants,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';

/** All calls are synchronous: these files are the kernel's own memory. Errors carry the kernel's `code`. */
export interface CgroupFiles {
  read(path: string): string;
  /** Writes to a file that is there; never creates one. */
  write(path: string, text: string): void;
  /** Returns false if it was there already. */
  makeDirectory(path: string): boolean;
  removeDirectory(path: string): void;
  isDirectory(path: string): boolean;
  /** The names of the subdirectories; none if the directory does not exist. */
  directoriesIn(path: string): readonly string[];
}

export const kernelCgroupFiles: CgroupFiles = {
  read: (path) => readFileSync(path, 'utf8'),
  write(path, text) {
    const descriptor = openSync(path, constants.O_WRONLY | constants.O_TRUNC);
    try {
      writeSync(descriptor, text);
    } finally {
      closeSync(descriptor);
    }
  },
  makeDirectory(path) {
    try {
      mkdirSync(path, { mode: 0o755 });
      return true;
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return false;
      throw error;
    }
  },
  removeDirectory: (path) => rmdirSync(path),
  isDirectory: (path) => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false,
  directoriesIn(path) {
    try {
      const entries = readdirSync(path, { withFileTypes: true });
      return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return [];
      throw error;
    }
  },
};

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}

/** The levels from the top to the cgroup itself: `/a/b` has `/a` and `/a/b`. */
export function levelsOf(path: string): string[] {
  const parts = path.split('/').filter((part) => part !== '');
  return parts.map((_, index) => `/${parts.slice(0, index + 1).join('/')}`);
}

/** The content of a file; undefined if it is not there. */
export function readIfThere(files: CgroupFiles, path: string): string | undefined {
  try {
    return files.read(path);
  } catch (error) {
    // A cgroup may go away while it is read.
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENODEV') return undefined;
    throw error;
  }
}

/** The processes in the cgroup itself. */
export function processesIn(files: CgroupFiles, directory: string): number[] {
  const text = readIfThere(files, join(directory, 'cgroup.procs')) ?? '';
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map(Number);
}

/** The processes in the cgroup and all below it. */
export function processesBelow(files: CgroupFiles, directory: string): number[] {
  return [
    ...processesIn(files, directory),
    ...files.directoriesIn(directory).flatMap((name) => processesBelow(files, join(directory, name))),
  ];
}
