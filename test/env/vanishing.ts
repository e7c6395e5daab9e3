/** Reads of things that their owner may remove at any moment: processes, cgroups, other tests' directories. */
import { rmdirSync } from 'node:fs';

export function errorCode(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

/** `undefined` when what was to be read is gone. */
export function ifThere<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (['ENOENT', 'ESRCH', 'ENODEV', 'ENOTDIR'].includes(String(errorCode(error)))) {
      return undefined;
    }
    throw error;
  }
}

/** Whether the directory is gone now; one that somebody uses stays. */
export function removeIfEmpty(directory: string): boolean {
  try {
    ifThere(() => rmdirSync(directory));
    return true;
  } catch (error) {
    if (['EBUSY', 'ENOTEMPTY', 'EEXIST'].includes(String(errorCode(error)))) {
      return false;
    }
    throw error;
  }
}
