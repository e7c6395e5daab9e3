/** Lists directories that may not exist. */
import { isMissing } from './errors.js';
import type { HostFiles } from './host.js';

/** The names in a directory; none if it does not exist. */
export async function namesIn(
  { files }: { readonly files: Pick<HostFiles, 'readdir'> },
  dir: string,
): Promise<readonly string[]> {
  try {
    return await files.readdir(dir);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}
