/** Makes a directory with its parents and reports the true cause of a failure. */
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * The asynchronous form. Node's recursive call reports ENOENT on a read-only file system; then each parent is
 * made separately to find the cause.
 */
export async function makeDirectories(
  path: string,
  mode: number,
  mkdir: (path: string, mode: number, recursive: boolean) => Promise<void>,
): Promise<void> {
  try {
    await mkdir(path, mode, true);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
    for (const directory of fromTheTop(path)) {
      await mkdir(directory, mode, false).catch((cause: unknown) => {
        if (!hasCode(cause, 'EEXIST')) throw cause;
      });
    }
  }
}

/** The synchronous form. Returns the first directory it made, if any. */
export function makeDirectoriesSync(path: string, mode: number): string | undefined {
  try {
    return mkdirSync(path, { mode, recursive: true });
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
    let firstMade: string | undefined;
    for (const directory of fromTheTop(path)) {
      try {
        mkdirSync(directory, { mode });
        firstMade ??= directory;
      } catch (cause) {
        if (!hasCode(cause, 'EEXIST')) throw cause;
      }
    }
    return firstMade;
  }
}

function fromTheTop(path: string): string[] {
  const directories = [path];
  for (let at = path; dirname(at) !== at; at = dirname(at)) directories.unshift(dirname(at));
  return directories;
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
