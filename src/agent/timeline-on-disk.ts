/** The timeline on disk: `nodelet explain` reads it, also after a crash. */
import { type DiskRing, openDiskRing, type Timeline } from '../timeline/index.js';

/** Writes every entry from now on to a bounded ring of files in the directory. */
export function keepOnDisk(timeline: Timeline, dir: string): DiskRing {
  const ring = openDiskRing({
    dir,
    onError: (error) =>
      timeline.record({
        kind: 'problem',
        what: 'timeline.disk',
        message: `the timeline cannot be kept in ${dir}, which is tried again; nodelet explain does not know what happens meanwhile`,
        level: 'warn',
        error,
      }),
    onRecovered: (lostEntries) =>
      timeline.record({
        kind: 'notice',
        what: 'timeline.disk',
        message: `the timeline is kept in ${dir} again; ${lostEntries} entries were lost`,
        level: 'warn',
      }),
  });
  timeline.subscribe(ring.reader);
  return ring;
}
