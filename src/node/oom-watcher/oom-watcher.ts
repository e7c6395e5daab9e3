/** Follows OOM kills: counts them for each cgroup, reports those of pods on the pods, and those of the whole node on the node. */
import { BoundedMap, type Clock, errorText, sleep } from '../../async/index.js';
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
import { containerIdIn, type OomVictim } from './victims.js';

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
/** More than the containers that a node restarts before their ends are read; the oldest are forgotten. */
const maxKilledContainers = 4_096;

export class OomWatcher {
  readonly #options: OomWatcherOptions;
  /** Ids of containers with a killed process. */
  readonly #killed = new BoundedMap<string, true>({ maxEntries: maxKilledContainers });
  #log: KernelLog | undefined;
  #isClosed = false;
  #report: OomReport;
  #hasRead = false;
  #looking: Promise<readonly ToldKill[]> | undefined;

  constructor(options: OomWatcherOptions) {
    this.#options = options;
  }

  /** Runs until the signal aborts. Counts kills before its start but does not report them: an earlier run may have. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, timeline } = this.#options;
    try {
      this.#open();
    } catch (error) {
      timeline.record({
        kind: 'notice',
        what: 'node.oom',
        message: `OOM kills will not be reported as events: the kernel log cannot be read: ${errorText(error)}`,
      });
      return;
    }
    try {
      await this.#look();
      for (;;) {
        await sleep(clock, lookPeriodMs, signal);
        this.#tell(await this.#look());
      }
    } finally {
      this.#isClosed = true;
      // A look for `hasKilled` may be under way, and a closed descriptor may soon be that of another file.
      await this.#looking?.catch(() => undefined);
      this.#log?.close();
    }
  }

  /**
   * Whether the kernel killed a process of this container. Runtimes learn of a kill beside the exit and may miss it; the
   * kernel writes its report before the process is gone.
   */
  async hasKilled(containerId: string): Promise<boolean> {
    if (!this.#isClosed && !this.#isKilled(containerId)) {
      try {
        this.#tell(await this.#look());
      } catch {
        // A log that cannot be read ends `run`, which reports it; the runtime's word then stands.
      }
    }
    return this.#isKilled(containerId);
  }

  #isKilled(containerId: string): boolean {
    return this.#killed.get(containerId) === true;
  }

  #open(): KernelLog {
    this.#log ??= this.#options.open();
    return this.#log;
  }

  /** The kills since the last look; none of the first, which an earlier run may have reported. One look at a time. */
  async #look(): Promise<readonly ToldKill[]> {
    // Whoever comes during a look needs one that begins after it came.
    const before = this.#looking;
    const look = (async () => {
      await before?.catch(() => undefined);
      if (this.#isClosed) return [];
      const isFirst = !this.#hasRead;
      const kills = await this.#read(this.#open());
      this.#hasRead = true;
      return isFirst ? [] : kills;
    })();
    this.#looking = look;
    return look;
  }

  async #read(log: KernelLog): Promise<readonly ToldKill[]> {
    const kills = new Map<string, ToldKill>();
    for await (const record of log.records()) {
      const read = readOomLine(this.#report, kernelMessage(record));
      this.#report = read.report;
      if (read.kill === undefined) continue;
      const counted = countedCgroup(read.kill);
      if (counted !== undefined) this.#options.counts?.add(counted);
      const containerId = containerIdIn(read.kill.victimCgroup ?? '');
      if (containerId !== undefined) this.#killed.set(containerId, true);
      // Kills in one cgroup by one limit are one story; each kill for the whole machine is another.
      const isAlone = isSystemOom(read.kill);
      const key = `${isAlone ? read.kill.pid : ''} ${read.kill.victimCgroup} ${read.kill.limitedCgroup}`;
      const known = kills.get(key);
      if (known !== undefined) known.more++;
      else if (kills.size < maxToldKills) kills.set(key, { kill: read.kill, more: 0 });
    }
    return [...kills.values()];
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
