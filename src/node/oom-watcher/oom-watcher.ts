/** Follows OOM kills: counts them for each cgroup, reports those of pods on the pods, and those of the whole node on the node. */
import { type Clock, errorText, sleep } from '../../async/index.js';
import type { Timeline } from '../../timeline/index.js';
import {
  countedCgroup,
  isSystemOom,
  kernelMessage,
  type OomKill,
  type OomReport,
  readOomLine,
  systemOomMessage,
} from './kills.js';
import type { OomCounts } from './oom-counts.js';
import { podKillEntry } from './pod-kill.js';
import type { OomVictim } from './victims.js';

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
  readonly counts?: Pick<OomCounts, 'add'>;
  /** Whose cgroup it is; undefined if it is no pod's. */
  readonly victimOf?: (cgroup: string) => OomVictim | undefined;
}

/** The log does not notify a non-blocking reader, so it is polled. */
const lookPeriodMs = 5_000;
/** Kills of one look that are reported; a container that kills and starts anew a thousand times a second must not fill the log. */
const maxToldKills = 64;

export class OomWatcher {
  readonly #options: OomWatcherOptions;

  constructor(options: OomWatcherOptions) {
    this.#options = options;
  }

  /** Runs until the signal aborts. Counts kills before its start but does not report them: an earlier run may have. */
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
      let { report } = await this.#read(log, undefined);
      for (;;) {
        await sleep(clock, lookPeriodMs, signal);
        const read = await this.#read(log, report);
        report = read.report;
        this.#tell(read.kills);
      }
    } finally {
      log.close();
    }
  }

  async #read(
    log: KernelLog,
    before: OomReport,
  ): Promise<{ readonly report: OomReport; readonly kills: readonly ToldKill[] }> {
    const kills = new Map<string, ToldKill>();
    let report = before;
    for await (const record of log.records()) {
      const read = readOomLine(report, kernelMessage(record));
      report = read.report;
      if (read.kill === undefined) continue;
      const counted = countedCgroup(read.kill);
      if (counted !== undefined) this.#options.counts?.add(counted);
      // Kills in one cgroup by one limit are one story; each kill for the whole machine is another.
      const isAlone = isSystemOom(read.kill);
      const key = `${isAlone ? read.kill.pid : ''} ${read.kill.victimCgroup} ${read.kill.limitedCgroup}`;
      const known = kills.get(key);
      if (known !== undefined) known.more++;
      else if (kills.size < maxToldKills) kills.set(key, { kill: read.kill, more: 0 });
    }
    return { report, kills: [...kills.values()] };
  }

  #tell(kills: readonly ToldKill[]): void {
    const { timeline, nodeName, victimOf } = this.#options;
    for (const { kill, more } of kills) {
      if (isSystemOom(kill)) timeline.nodeEvent(nodeName, 'Warning', 'SystemOOM', systemOomMessage(kill));
      const victim = kill.victimCgroup === undefined ? undefined : victimOf?.(kill.victimCgroup);
      if (victim !== undefined) timeline.record(podKillEntry(victim, kill, more));
    }
  }
}

interface ToldKill {
  readonly kill: OomKill;
  /** Further kills of the same kind in the same look. */
  more: number;
}
