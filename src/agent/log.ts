/** Where the agent's timeline goes: its log, and the disk for those who ask later. */
import type { KubeletConfiguration } from '../config/index.js';
import { type DiskRing, type Entry, logReader, openDiskRing, Timeline } from '../timeline/index.js';
import { descriptorSink, ignoreOutputErrors, LogWriter } from './log-writer.js';

export interface LoggedTimeline {
  readonly timeline: Timeline;
  /** Changes how much is logged from now on. */
  readonly setVerbosity: (verbosity: number) => void;
  /** Resolves when all of the log so far was handed to the system; rejects while it is not taken. */
  readonly flush: () => Promise<void>;
  /** Waits a moment for what is not written yet. */
  readonly close: () => Promise<void>;
}

export function loggedTimeline({ logging }: KubeletConfiguration): LoggedTimeline {
  const timeline = new Timeline();
  let { verbosity } = logging;
  ignoreOutputErrors();
  const writer = new LogWriter({
    sink: descriptorSink(process.stderr.fd),
    onFailing: (error) =>
      timeline.record({
        kind: 'problem',
        what: 'log.write',
        message: 'the log cannot be written to standard error; the agent goes on without it',
        level: 'warn',
        error,
      }),
    onRecovered: (lostLines) =>
      timeline.record({
        kind: 'notice',
        what: 'log.write',
        message: `the log is written again; ${lostLines} lines were lost`,
        level: 'warn',
      }),
  });
  const writeRest = (): void => writer.writeRest();
  process.on('exit', writeRest);
  const log = logReader({
    format: logging.format === 'json' ? 'json' : 'text',
    get verbosity() {
      return verbosity;
    },
    write: (line) => writer.write(line),
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
    flush: () => writer.flush(),
    close: async () => {
      await writer.close();
      writer.writeRest();
      process.off('exit', writeRest);
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

function isCancellation(entry: Entry): boolean {
  return `${entry.error ?? ''} ${entry.message}`.includes('context canceled');
}
