/** The agent's log: a timeline, and the writer of its lines. */
import type { KubeletConfiguration } from '../config/index.js';
import { parseQuantity, quantityValue } from '../kube/index.js';
import { logReader, Timeline } from '../timeline/index.js';
import { type LogBatch, type LogSink, LogWriter } from './log-writer.js';

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

export interface LogStreams {
  /** All lines, or only the errors of a log in two streams. */
  readonly main: LogSink;
  /** The other lines of a log in two streams. Default: that of the errors. */
  readonly info?: LogSink;
}

export function loggedTimeline(
  logging: KubeletConfiguration['logging'],
  { main, info = main }: LogStreams,
): LoggedTimeline {
  const timeline = new Timeline();
  let { verbosity } = logging;
  // An error goes to the other stream, which may work.
  const told = (stream: string, level: 'warn' | 'error') => ({
    onFailing: (error: unknown) =>
      timeline.record({
        kind: 'problem',
        what: 'log.write',
        message: `the log cannot be written to ${stream}; the agent goes on without it`,
        level,
        error,
      }),
    onRecovered: (lostLines: number) =>
      timeline.record({
        kind: 'notice',
        what: 'log.write',
        message: `the log is written again; ${lostLines} lines were lost`,
        level: 'warn',
        data: { lostLines },
      }),
  });
  const writer = new LogWriter({ sink: main, ...told('standard error', 'warn') });
  const options = logging.options[logging.format === 'json' ? 'json' : 'text'];
  const infoWriter = options.splitStream
    ? new LogWriter({
        sink: info,
        batch: batchOf(options.infoBufferSize, logging.flushFrequency),
        ...told('standard output', 'error'),
      })
    : writer;
  const writers = new Set([writer, infoWriter]);
  const writeRest = (): void => {
    for (const one of writers) one.writeRest();
  };
  process.on('exit', writeRest);
  const log = logReader({
    format: logging.format === 'json' ? 'json' : 'text',
    get verbosity() {
      return verbosity;
    },
    byName: logging.vmodule,
    write: (line, level) => (level === 'error' ? writer : infoWriter).write(line),
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
    flush: async () => void (await Promise.all([...writers].map((one) => one.flush()))),
    close: async () => {
      await Promise.all([...writers].map((one) => one.close()));
      writeRest();
      process.off('exit', writeRest);
    },
  };
}

/** None for a size of zero: each line is then written at once. */
function batchOf(size: string, periodMs: number): LogBatch | undefined {
  const bytes = Number(quantityValue(parseQuantity(size)));
  return bytes <= 0 ? undefined : { bytes, periodMs };
}
