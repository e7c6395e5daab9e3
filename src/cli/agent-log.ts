/** Where the agent's timeline goes: its log, and the disk for those who ask later. */
import type { KubeletConfiguration } from '../config/index.js';
import { type DiskRing, type Entry, logReader, openDiskRing, Timeline } from '../timeline/index.js';
import { batchedWriter } from './log-writer.js';

export interface LoggedTimeline {
  readonly timeline: Timeline;
  /** Changes how much is logged from now on. */
  readonly setVerbosity: (verbosity: number) => void;
}

export function loggedTimeline({ logging }: KubeletConfiguration): LoggedTimeline {
  const timeline = new Timeline();
  let { verbosity } = logging;
  const log = logReader({
    format: logging.format === 'json' ? 'json' : 'text',
    get verbosity() {
      return verbosity;
    },
    write: batchedWriter((text) => void process.stderr.write(text)),
  });
  let stopping = false;
  timeline.subscribe((entry) => {
    if (entry.what === 'agent.stop') stopping = true;
    // What was under way when the agent was told to stop has not failed; the next start goes on with it.
    if (!stopping || !isCancellation(entry)) log(entry);
  });
  return {
    timeline,
    setVerbosity: (value) => {
      verbosity = value;
    },
  };
}

/** Keeps what happens where `nodelet explain` finds it, also after a crash. */
export function keepOnDisk(timeline: Timeline, dir: string): DiskRing {
  const ring = openDiskRing({
    dir,
    onError: (error) =>
      timeline.record({
        kind: 'problem',
        what: 'timeline.disk',
        message: `the timeline cannot be kept in ${dir}; nodelet explain will not know this run`,
        level: 'warn',
        error,
      }),
  });
  timeline.subscribe(ring.reader);
  return ring;
}

function isCancellation(entry: Entry): boolean {
  return `${entry.error ?? ''} ${entry.message}`.includes('context canceled');
}
