/** Removes the directories of a cgroup, with patience for processes that the kernel is still letting go. */
import { join } from 'node:path';
import { type Clock, errorText, sleep } from '../../async/index.js';
import { type CgroupFiles, codeOf } from './cgroup-files.js';

/** A killed process leaves its cgroup a moment later: together about a second. */
const busyWaits = 10;
const firstWaitMs = 1;

/** Removes a directory and all below it; one that is gone counts as removed. */
export async function removeDirectories(files: CgroupFiles, clock: Clock, directory: string): Promise<void> {
  if (isRemoved(files, directory)) return;
  for (const name of files.directoriesIn(directory))
    await removeDirectories(files, clock, join(directory, name));
  for (let waits = 0, waitMs = firstWaitMs; ; waits++, waitMs *= 2) {
    try {
      remove(files, directory);
      return;
    } catch (error) {
      if (codeOf(error) !== 'EBUSY' || waits === busyWaits) throw error;
    }
    await sleep(clock, waitMs);
  }
}

/** Tries every directory; throws the paths that stayed with why. */
export async function removeAllDirectories(
  files: CgroupFiles,
  clock: Clock,
  directories: readonly string[],
): Promise<void> {
  const left: string[] = [];
  for (const directory of directories) {
    try {
      await removeDirectories(files, clock, directory);
    } catch (error) {
      left.push(`${directory}: ${errorText(error)}`);
    }
  }
  if (left.length > 0) throw new Error(`Failed to remove paths: map[${left.join(' ')}]`);
}

/** Removes a directory that nothing uses; one that is gone counts as removed. */
export function isRemoved(files: CgroupFiles, directory: string): boolean {
  try {
    remove(files, directory);
    return true;
  } catch {
    return false;
  }
}

function remove(files: CgroupFiles, directory: string): void {
  try {
    files.removeDirectory(directory);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}
