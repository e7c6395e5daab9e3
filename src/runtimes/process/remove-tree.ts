/** Removes a directory of ours with all that a container left in it, and nothing that it links to or mounts. */
import { chmod, lstat, readdir, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { isFileError } from './container-files.js';

/** Removing what is gone is no error. Fails at another file system mounted below, before it touches that. */
export async function removeTree(path: string): Promise<void> {
  await remove(path, undefined);
}

async function remove(path: string, device: number | undefined): Promise<void> {
  const entry = await unlessMissing(lstat(path));
  if (entry === undefined) return;
  if (!entry.isDirectory()) {
    await unlessMissing(unlink(path));
    return;
  }
  if (device !== undefined && entry.dev !== device) {
    throw new Error(`${path} is a mount: unmount it, then the container can be removed`);
  }
  // A container may have taken the right to look into a directory from itself, and so from us.
  if ((entry.mode & 0o700) !== 0o700) await unlessMissing(chmod(path, 0o700));
  for (const name of (await unlessMissing(readdir(path))) ?? []) await remove(join(path, name), entry.dev);
  await unlessMissing(rmdir(path));
}

async function unlessMissing<T>(operation: Promise<T>): Promise<T | undefined> {
  try {
    return await operation;
  } catch (error) {
    if (isFileError(error, 'ENOENT')) return undefined;
    throw error;
  }
}
