/** Checks whether a path exists. */
import { isHostError } from './errors.js';
import type { HostFiles } from './host.js';

/** A symbolic link counts, even a dangling one. */
export async function exists(files: HostFiles, path: string): Promise<boolean> {
  try {
    await files.lstat(path);
    return true;
  } catch (error) {
    if (isHostError(error, 'ENOENT', 'ENOTDIR')) return false;
    throw error;
  }
}
