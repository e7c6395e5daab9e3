/** Directories of a cgroup file system: the part common to both cgroup versions. */
import { mkdirSync, readdirSync, readFileSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}

/** The levels from the top to the cgroup itself: `/a/b` has `/a` and `/a/b`. */
export function levelsOf(name: string): string[] {
  const parts = name.split('/').filter((part) => part !== '');
  return parts.map((_, index) => `/${parts.slice(0, index + 1).join('/')}`);
}

/** Returns false if it already existed. */
export function makeFolder(path: string): boolean {
  try {
    mkdirSync(path, { mode: 0o755 });
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/** The subdirectories; none if the directory does not exist. */
export function foldersIn(path: string): string[] {
  try {
    const entries = readdirSync(path, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}

/** The processes in the cgroup and all below it. */
export function processesBelow(path: string): number[] {
  let text: string;
  try {
    text = readFileSync(join(path, 'cgroup.procs'), 'utf8');
  } catch (error) {
    // A cgroup may go away while it is read.
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENODEV') return [];
    throw error;
  }
  const own = text
    .split('\n')
    .filter((line) => line !== '')
    .map(Number);
  return [...own, ...foldersIn(path).flatMap((name) => processesBelow(join(path, name)))];
}

/** Deepest first; there are rarely any below. */
export function removeFolders(path: string): void {
  try {
    rmdirSync(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return;
    const below = codeOf(error) === 'EBUSY' || codeOf(error) === 'ENOTEMPTY' ? foldersIn(path) : [];
    if (below.length === 0) throw error;
    for (const name of below) removeFolders(join(path, name));
    rmdirSync(path);
  }
}
