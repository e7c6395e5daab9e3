/** Lists folders that may not be there. */
import { isMissing } from './errors.js';
import type { Host } from './host.js';

/** The names in a folder; none when it does not exist. */
export async function namesIn({ files }: Pick<Host, 'files'>, folder: string): Promise<readonly string[]> {
  try {
    return await files.readdir(folder);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}
