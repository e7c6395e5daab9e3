/** Keeps the agent, and the processes of the system that are in no cgroup, in the cgroups that the configuration names. */
import { type Clock, errorText, sleep } from '../../async/index.js';
import type { Timeline } from '../../timeline/index.js';
import { codeOf } from './cgroup-files.js';
import type { CgroupHierarchy } from './hierarchy.js';
import { cgroupfsNaming, componentsOf } from './names.js';
import { ownCgroup } from './own-cgroup.js';

/** What the machine tells of processes. */
export interface ProcessTable {
  readonly ownPid: number;
  /** `/proc/self/cgroup` */
  ownCgroups(): string;
  /** Whether this process has the process ids of the machine. */
  isInFirstPidNamespace(): boolean;
  /** Whether the kernel itself runs it. */
  isKernelThread(pid: number): boolean;
  /** How much the kernel spares this process when memory runs out. */
  setOwnOomScoreAdj(adj: number): void;
}

export interface ProcessCgroupsOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  /** Opens the cgroups of the machine; called where processes are to be moved. */
  readonly hierarchy: () => CgroupHierarchy;
  readonly processes: ProcessTable;
  readonly oomScoreAdj: number;
  /** Where the agent goes; empty: it stays where it is. */
  readonly kubeletCgroups: string;
  /** Where processes of the root cgroup go; empty: they stay there. */
  readonly systemCgroups: string;
}

const periodMs = 60_000;
const oomPeriodMs = 300_000;
const oomTries = 2;
const oomPauseMs = 100;
const moveRounds = 11;

export class ProcessCgroups {
  readonly #options: ProcessCgroupsOptions;
  readonly #reported = new Map<string, string>();

  /** Throws for a cgroup that the system cannot have. */
  constructor(options: ProcessCgroupsOptions) {
    this.#options = options;
    const { systemCgroups } = options;
    if (systemCgroups !== '' && componentsOf(systemCgroups).length === 0)
      throw new Error('system container cannot be root ("/")');
  }

  /** Keeps the agent in its cgroup until the signal aborts. */
  async runOwn(signal: AbortSignal): Promise<void> {
    const { clock, kubeletCgroups } = this.#options;
    for (;;) {
      if (kubeletCgroups !== '') this.#reporting('kubeletCgroups', () => this.#moveOwn());
      await this.#setOomScoreAdj(signal);
      await sleep(clock, kubeletCgroups === '' ? oomPeriodMs : periodMs, signal);
    }
  }

  /** Keeps processes of the system in their cgroup until the signal aborts. */
  async runSystem(signal: AbortSignal): Promise<void> {
    const { clock, systemCgroups } = this.#options;
    if (systemCgroups === '') return;
    for (;;) {
      this.#reporting('systemCgroups', () => this.#moveSystem());
      await sleep(clock, periodMs, signal);
    }
  }

  /** Process ids of another namespace would move the wrong process. */
  #moveOwn(): void {
    const { processes, kubeletCgroups, timeline } = this.#options;
    if (!processes.isInFirstPidNamespace()) return;
    const hierarchy = this.#options.hierarchy();
    const wanted = cgroupfsNaming.pathOf(componentsOf(kubeletCgroups));
    const from = ownCgroup(processes.ownCgroups(), hierarchy.version);
    if (from === wanted) return;
    hierarchy.create(wanted);
    hierarchy.enter(wanted, processes.ownPid);
    timeline.record({
      kind: 'effect',
      what: 'cgroup.process',
      message: `moved the agent from the cgroup ${from} to ${wanted}`,
      because: 'kubeletCgroups names it',
      data: { from, to: wanted, processes: 1 },
    });
  }

  /** Processes start while others are moved, so that one round is not enough. */
  #moveSystem(): void {
    const { processes, systemCgroups, timeline } = this.#options;
    const hierarchy = this.#options.hierarchy();
    const to = cgroupfsNaming.pathOf(componentsOf(systemCgroups));
    const moved = new Set<number>();
    let failure: unknown;
    for (let round = 0; round < moveRounds; round++) {
      failure = undefined;
      const pids = hierarchy
        .ownProcesses('/')
        .filter((pid) => pid !== 1 && !moved.has(pid) && !processes.isKernelThread(pid));
      if (pids.length === 0) break;
      if (round === 0) hierarchy.create(to);
      for (const pid of pids) {
        try {
          hierarchy.enter(to, pid);
          moved.add(pid);
        } catch (error) {
          if (codeOf(error) !== 'ESRCH') failure = error;
        }
      }
    }
    if (moved.size > 0)
      timeline.record({
        kind: 'effect',
        what: 'cgroup.process',
        message: `moved ${moved.size} processes of the system to the cgroup ${to}`,
        because: 'systemCgroups names it, and they were in no cgroup',
        data: { from: '/', to, processes: moved.size },
      });
    if (failure !== undefined) throw failure;
  }

  async #setOomScoreAdj(signal: AbortSignal): Promise<void> {
    const { clock, processes, oomScoreAdj } = this.#options;
    for (let tries = 1; ; tries++) {
      const isLast = tries === oomTries;
      const isSet = this.#reporting('oomScoreAdj', () => processes.setOwnOomScoreAdj(oomScoreAdj), isLast);
      if (isSet || isLast) return;
      await sleep(clock, oomPauseMs, signal);
    }
  }

  /** Returns whether it worked. The same failure is told once. */
  #reporting(setting: string, work: () => void, tells = true): boolean {
    try {
      work();
      this.#reported.delete(setting);
      return true;
    } catch (error) {
      const text = errorText(error);
      if (tells && this.#reported.get(setting) !== text) {
        this.#reported.set(setting, text);
        const message = `${setting} could not be applied to processes: ${text}`;
        // Without the right to, an agent in a container is still a good agent.
        const level = setting === 'oomScoreAdj' ? 'debug' : 'warn';
        this.#options.timeline.record({ kind: 'problem', what: 'cgroup.process', message, level, error });
      }
      return false;
    }
  }
}
