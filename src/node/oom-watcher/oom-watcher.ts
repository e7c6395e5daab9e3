/** Records an event when the whole node ran out of memory and the kernel killed a process. */
import { type Clock, errorText, sleep } from '../../async/index.js';
import type { Timeline } from '../../timeline/index.js';
import { isSystemOom, kernelMessage, type OomReport, readOomLine, systemOomMessage } from './kills.js';

/** The kernel log as one reader sees it. */
export interface KernelLog {
  /** Records since the last call, or from the oldest kept; ends when there are no more. */
  records(): AsyncIterable<string>;
  close(): void;
}

export interface OomWatcherOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly nodeName: string;
  /** Throws if there is no readable log. */
  readonly open: () => KernelLog;
}

/** The log does not notify a non-blocking reader, so it is polled. */
const lookPeriodMs = 5_000;

export class OomWatcher {
  readonly #options: OomWatcherOptions;

  constructor(options: OomWatcherOptions) {
    this.#options = options;
  }

  /** Runs until the signal aborts. Skips kills before its start, as an earlier run may have reported them. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, timeline, open } = this.#options;
    let log: KernelLog;
    try {
      log = open();
    } catch (error) {
      timeline.record({
        kind: 'notice',
        what: 'node.oom',
        message: `OOM kills will not be reported as events: the kernel log cannot be read: ${errorText(error)}`,
      });
      return;
    }
    try {
      await skip(log.records());
      let report: OomReport;
      for (;;) {
        await sleep(clock, lookPeriodMs, signal);
        report = await this.#read(log, report);
      }
    } finally {
      log.close();
    }
  }

  async #read(log: KernelLog, before: OomReport): Promise<OomReport> {
    const { timeline, nodeName } = this.#options;
    let report = before;
    for await (const record of log.records()) {
      const read = readOomLine(report, kernelMessage(record));
      report = read.report;
      if (read.kill !== undefined && isSystemOom(read.kill)) {
        timeline.nodeEvent(nodeName, 'Warning', 'SystemOOM', systemOomMessage(read.kill));
      }
    }
    return report;
  }
}

async function skip(records: AsyncIterable<string>): Promise<void> {
  const each = records[Symbol.asyncIterator]();
  while ((await each.next()).done !== true);
}
