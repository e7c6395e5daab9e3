/** Replaces a file so that a crash or a power cut leaves either the old or the new content, never a part. */
import { dirname } from 'node:path';
import { isHostError, isMissing } from '../errors.js';
import type { HostFiles } from '../host.js';

export interface ReplaceFileOptions {
  /** Default: 0600. */
  readonly mode?: number;
  /** Mode of missing directories. Default: 0750. */
  readonly directoryMode?: number;
  /**
   * Called when the new content outlasts this process, before it is on disk. From then on it is never removed: see
   * `DurableFiles.readNewest`.
   */
  readonly onWritten?: (() => void) | undefined;
}

/** Suffix of a replacement until it is complete. A crash may leave one; the file's next replacement removes it. */
export const temporarySuffix = '.tmp';
/** Of a replacement beside one that outlasts the process and could not be finished. */
export const nextSuffix = `.next${temporarySuffix}`;

/** The path of the file that a temporary file is to replace. */
export function replacedPath(temporary: string): string {
  const suffix = temporary.endsWith(nextSuffix) ? nextSuffix : temporarySuffix;
  return temporary.slice(0, -suffix.length);
}

/** Replacements of one file must not overlap; see `DurableFiles`. */
export async function replaceFile(
  files: HostFiles,
  path: string,
  data: Uint8Array | string,
  { mode = 0o600, directoryMode = 0o750, onWritten }: ReplaceFileOptions = {},
): Promise<void> {
  const directory = dirname(path);
  const temporary = `${path}${temporarySuffix}`;
  try {
    const write = (): Promise<void> =>
      onWritten === undefined
        ? writeNew(files, temporary, data, mode)
        : writeBeside(files, path, data, mode, onWritten);
    await write().catch(async (error: unknown) => {
      if (!isMissing(error)) throw error;
      await makeDirectories(files, directory, directoryMode);
      await write();
    });
    await files.rename(temporary, path);
  } catch (error) {
    // On a full disk the partial file would waste space.
    if (onWritten === undefined) await files.unlink(temporary).catch(() => undefined);
    throw error;
  }
  await files.syncDirectory(directory);
}

/**
 * Leaves the new content in the temporary file. What is there already may be content of which somebody was told, and the
 * disk could not sync it: that stays until the new content is whole and synced, beside it.
 */
async function writeBeside(
  files: HostFiles,
  path: string,
  data: Uint8Array | string,
  mode: number,
  onWritten: () => void,
): Promise<void> {
  const temporary = `${path}${temporarySuffix}`;
  let isWritten = false;
  const written = (): void => {
    isWritten = true;
    onWritten();
  };
  try {
    await files.writeFile(temporary, data, { mode, exclusive: true, sync: true, onWritten: written });
    return;
  } catch (error) {
    if (!isHostError(error, 'EEXIST')) {
      // On a full disk the partial file would waste space.
      if (!isWritten) await files.unlink(temporary).catch(() => undefined);
      throw error;
    }
  }
  const next = `${path}${nextSuffix}`;
  try {
    await writeNew(files, next, data, mode);
    await files.rename(next, temporary);
  } catch (error) {
    await files.unlink(next).catch(() => undefined);
    throw error;
  }
  onWritten();
}

/** Exclusive, so that nothing in the way, such as a pipe without a reader, is ever opened. */
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

/** Removes anything but a non-empty directory. */
export async function removeEntry(files: HostFiles, path: string): Promise<void> {
  try {
    await files.unlink(path);
  } catch (error) {
    if (!isHostError(error, 'EISDIR', 'EPERM')) throw error;
    await files.rmdir(path);
  }
}

/** Syncs each new directory's name in its parent. */
async function makeDirectories(files: HostFiles, directory: string, mode: number): Promise<void> {
  try {
    await files.mkdir(directory, { mode });
  } catch (error) {
    if (isHostError(error, 'EEXIST')) return;
    if (!isMissing(error)) throw error;
    await makeDirectories(files, dirname(directory), mode);
    try {
      await files.mkdir(directory, { mode });
    } catch (again) {
      // Another file of the directory is written at the same time.
      if (!isHostError(again, 'EEXIST')) throw again;
    }
  }
  await files.syncDirectory(dirname(directory));
}
