/** Tells whether there is something at a path. */
import { isHostError } from './errors.js';
import type { HostFiles } from './host.js';

/** A link counts, whatever it leads to. */
export async function exists(files: HostFiles, path: string): Promise<boolean> {
  try {
    await files.lstat(path);
    return true;
  } catch (error) {
    if (isHostError(error, 'ENOENT', 'ENOTDIR')) return false;
    throw error;
  }
}
