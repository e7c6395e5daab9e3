/** Deletes mirrors beside the sync loop, which must go on while the API is slow or away. */
import type { TaskGroup } from '../../async/index.js';
import type { MirrorPods } from '../ports.js';

/** One deletion of a name at a time: each pass of housekeeping names again what is still there. */
export function mirrorDeletions(
  mirrors: Pick<MirrorPods, 'delete'>,
  tasks: Pick<TaskGroup, 'start'>,
): (fullNames: readonly string[]) => void {
  let underway = false;
  return (fullNames) => {
    if (underway || fullNames.length === 0) return;
    underway = true;
    tasks.start('deleting mirrors', async (signal) => {
      try {
        for (const fullName of fullNames) {
          if (signal.aborted) return;
          await mirrors.delete(fullName);
        }
      } finally {
        underway = false;
      }
    });
  };
}
