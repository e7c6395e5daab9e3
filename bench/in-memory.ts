/**
 * Keeps what benches write in memory. On a disk the cost of making a file depends on what was deleted shortly before:
 * ext4 passes over the places of files deleted within the last minute, and every round deletes thousands of them.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dropOwnDirIfEmpty, ownDir } from '../test/env/directories.js';
import { runCommand } from '../test/env/index.js';
import { unmountBelow } from '../test/env/mounts.js';

export async function inMemory<T>(work: () => Promise<T>): Promise<T> {
  const dir = ownDir();
  await runCommand('mount', ['-t', 'tmpfs', '-o', 'mode=711', 'nodelet-bench', dir]);
  try {
    // A directory that is empty would be taken away as one that nobody needs.
    writeFileSync(join(dir, 'in-memory'), '');
    return await work();
  } finally {
    await unmountBelow(dir);
    dropOwnDirIfEmpty();
  }
}
