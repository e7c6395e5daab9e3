/** The agent's log: a timeline, and the writer of its lines. */
import type { KubeletConfiguration } from '../config/index.js';
import { logReader, Timeline } from '../timeline/index.js';
import { type LogSink, LogWriter } from './log-writer.js';

export interface LoggedTimeline {
  readonly timeline: Timeline;
  /** Changes how much is logged from now on. */
  readonly setVerbosity: (verbosity: number) => void;
  /** From now on cancelled work is not logged: the next start goes on with it. */
  readonly stopping: () => void;
  /** Resolves when all of the log so far was handed to the system; rejects while it is not taken. */
  readonly flush: () => Promise<void>;
  /** Waits a moment for what is not written yet. */
  readonly close: () => Promise<void>;
}

export function loggedTimeline(logging: KubeletConfiguration['logging'], sink: LogSink): LoggedTimeline {
  const timeline = new Timeline();
  let { verbosity } = logging;
  const writer = new LogWriter({
    sink,
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
        data: { lostLines },
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
  let isStopping = false;
  timeline.subscribe((entry) => {
    // Cancelled, not failed: the next start of the agent continues the work.
    if (!isStopping || entry.cancelled !== true) log(entry);
  });
  return {
    timeline,
    setVerbosity: (value) => {
      verbosity = value;
    },
    stopping: () => {
      isStopping = true;
    },
    flush: () => writer.flush(),
    close: async () => {
      await writer.close();
      writer.writeRest();
      process.off('exit', writeRest);
    },
  };
}
