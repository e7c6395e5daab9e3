/** Reports what a reader of logs had to do without. */
import { errorText } from '../../async/index.js';
import type { Timeline } from '../../timeline/index.js';

/** Timelines already notified: each of many followers meets the same shortage. */
const told = new WeakSet<Timeline>();

/** Reports a failed watch, once per node. */
export function pollingNotice(timeline: Timeline): (error: unknown) => void {
  return (error) => {
    if (told.has(timeline)) return;
    told.add(timeline);
    timeline.record({
      kind: 'notice',
      what: 'logs.follow',
      message: `polling container logs every second, as they cannot be watched: ${errorText(error)}`,
      because:
        'the node has no watches left (fs.inotify.max_user_watches, max_user_instances), or the log is gone',
      level: 'warn',
    });
  };
}

/** Reports a rotated log that could not be read to its end. */
export function damageNotice(
  timeline: Timeline,
  containerId: string,
): (name: string, error: unknown) => void {
  return (name, error) => {
    timeline.record({
      kind: 'problem',
      what: 'logs.read',
      message: `could not read the rotated log ${name} to its end; the lines after the damage are left out`,
      level: 'warn',
      data: { containerId },
      error,
    });
  };
}
