/** Replaces a file so that after a crash or a power cut either the old or the new content is there, and never a part. */
import { dirname } from 'node:path';
import { isHostError, isMissing } from '../errors.js';
import type { HostFiles } from '../host.js';

export interface ReplaceFileOptions {
  /** 0600 */
  readonly mode?: number;
  /** Of directories that are missing: 0750. */
  readonly directoryMode?: number;
}

/** What a replacement is called until it is whole. A crash may leave it; the next one of the same file takes it away. */
export const temporarySuffix = '.tmp';

/** Two replacements of one file must not overlap: see `DurableFiles`. */
export async function replaceFile(
  files: HostFiles,
  path: string,
  data: Uint8Array | string,
  { mode = 0o600, directoryMode = 0o750 }: ReplaceFileOptions = {},
): Promise<void> {
  const directory = dirname(path);
  const temporary = `${path}${temporarySuffix}`;
  try {
    await writeNew(files, temporary, data, mode).catch(async (error: unknown) => {
      if (!isMissing(error)) throw error;
      await makeDirectories(files, directory, directoryMode);
      await writeNew(files, temporary, data, mode);
    });
    await files.rename(temporary, path);
  } catch (error) {
    // On a full disk the bytes that were written would take room for nothing.
    await files.unlink(temporary).catch(() => undefined);
    throw error;
  }
  await files.syncDirectory(directory);
}

/** Exclusive, so that nothing that stands in the way, such as a pipe that nobody reads, is ever opened. */
async function writeNew(
  files: HostFiles,
  path: string,
  data: Uint8Array | string,
  mode: number,
): Promise<void> {
  const options = { mode, exclusive: true, sync: true };
  try {
    await files.writeFile(path, data, options);
  } catch (error) {
    if (!isHostError(error, 'EEXIST')) throw error;
    await removeEntry(files, path);
    await files.writeFile(path, data, options);
  }
}

/** Removes anything but a directory that is not empty. */
export async function removeEntry(files: HostFiles, path: string): Promise<void> {
  try {
    await files.unlink(path);
  } catch (error) {
    if (!isHostError(error, 'EISDIR', 'EPERM')) throw error;
    await files.rmdir(path);
  }
}

/** Each new directory's name is synced in the one above it. */
async function makeDirectories(files: HostFiles, directory: string, mode: number): Promise<void> {
  try {
    await files.mkdir(directory, { mode });
  } catch (error) {
    if (isHostError(error, 'EEXIST')) return;
    if (!isMissing(error)) throw error;
    await makeDirectories(files, dirname(directory), mode);
    await files.mkdir(directory, { mode });
  }
  await files.syncDirectory(dirname(directory));
}
