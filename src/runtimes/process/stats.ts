/** CPU and memory of containers, from Linux's view of the processes in their sessions. */
import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { type ContainerStats, CriError, type PodSandboxStats } from '../../cri/index.js';
import { parseProcStat } from './proc-stat.js';
import type { ProcessContainer, ProcessSandbox } from './records.js';

/** Linux reports clock ticks as hundredths of a second to every program. */
const nanosPerTick = 10_000_000;

export interface SessionUsage {
  readonly cpuNanos: number;
  readonly residentBytes: number;
  readonly processes: number;
}

/** A rate over less than this measures the clock's ticks, not the container. */
const rateWindowNs = 500_000_000n;

interface CpuSample {
  /** The start of the rate's window. */
  readonly windowAtNs: bigint;
  readonly windowCpuNanos: number;
  readonly nanoCores: number;
  /** The highest value ever reported. */
  readonly cpuNanos: number;
}

const none: SessionUsage = { cpuNanos: 0, residentBytes: 0, processes: 0 };

export class ProcessStats {
  readonly #stamp: () => bigint;
  readonly #mountpoint: string;
  readonly #samples = new WeakMap<ProcessContainer, CpuSample>();

  constructor(stamp: () => bigint, mountpoint: string) {
    this.#stamp = stamp;
    this.#mountpoint = mountpoint;
  }

  /** One scan of the process table serves all containers. */
  async ofContainers(containers: readonly ProcessContainer[]): Promise<ContainerStats[]> {
    const usage = await readSessions(new Set(containers.flatMap(sessionOf)));
    const atNs = this.#stamp();
    return containers.map((container) => this.#containerStats(container, usage, atNs));
  }

  async ofSandboxes(sandboxes: readonly ProcessSandbox[]): Promise<PodSandboxStats[]> {
    const all = sandboxes.flatMap(({ containers }) => [...containers]);
    const usage = await readSessions(new Set(all.flatMap(sessionOf)));
    const atNs = this.#stamp();
    return sandboxes.map((sandbox) => {
      const running = [...sandbox.containers].filter(({ state }) => state.kind === 'running');
      const containers = running.map((container) => this.#containerStats(container, usage, atNs));
      const sum = (read: (stats: ContainerStats) => number | undefined): number =>
        containers.reduce((total, stats) => total + (read(stats) ?? 0), 0);
      return {
        attributes: {
          id: sandbox.id,
          metadata: sandbox.config.metadata,
          labels: sandbox.config.labels,
          annotations: sandbox.config.annotations,
        },
        linux: {
          cpu: cpu(
            atNs,
            sum((stats) => stats.cpu?.usageCoreNanoSeconds?.value),
            sum((stats) => stats.cpu?.usageNanoCores?.value),
          ),
          memory: memory(
            atNs,
            sum((stats) => stats.memory?.rssBytes?.value),
          ),
          network: undefined,
          process: {
            timestamp: atNs,
            processCount: {
              value: running
                .flatMap(sessionOf)
                .reduce((total, session) => total + (usage.get(session)?.processes ?? 0), 0),
            },
          },
          containers,
          io: undefined,
        },
        windows: undefined,
      };
    });
  }

  #containerStats(
    container: ProcessContainer,
    usage: ReadonlyMap<number, SessionUsage>,
    atNs: bigint,
  ): ContainerStats {
    const [session] = sessionOf(container);
    const used = session === undefined ? undefined : (usage.get(session) ?? none);
    return {
      attributes: {
        id: container.id,
        metadata: container.config.metadata,
        labels: container.config.labels,
        annotations: container.config.annotations,
      },
      cpu: used && this.#cpu(container, used.cpuNanos, atNs),
      memory: used && memory(atNs, used.residentBytes),
      writableLayer: {
        timestamp: atNs,
        fsId: { mountpoint: this.#mountpoint },
        usedBytes: undefined,
        inodesUsed: undefined,
      },
      swap: undefined,
      io: undefined,
    };
  }

  #cpu(container: ProcessContainer, measuredNanos: number, atNs: bigint): ContainerStats['cpu'] {
    const before = this.#samples.get(container);
    // The CPU time of an unreaped process vanishes with it; a counter must not go back.
    const cpuNanos = Math.max(measuredNanos, before?.cpuNanos ?? 0);
    const sample = nextSample(before, cpuNanos, atNs);
    this.#samples.set(container, sample);
    return cpu(atNs, cpuNanos, sample.nanoCores);
  }
}

function nextSample(before: CpuSample | undefined, cpuNanos: number, atNs: bigint): CpuSample {
  const windowNs = before === undefined ? 0n : atNs - before.windowAtNs;
  if (before !== undefined && windowNs < rateWindowNs) return { ...before, cpuNanos };
  const nanoCores =
    before === undefined ? 0 : Math.round((cpuNanos - before.windowCpuNanos) / (Number(windowNs) / 1e9));
  return { windowAtNs: atNs, windowCpuNanos: cpuNanos, nanoCores, cpuNanos };
}

/** CPU time and resident memory of the processes in each session. */
async function readSessions(sessions: ReadonlySet<number>): Promise<ReadonlyMap<number, SessionUsage>> {
  if (process.platform !== 'linux') {
    throw new CriError('Unimplemented', 'the process runtime has statistics on Linux only');
  }
  const usage = new Map<number, SessionUsage>();
  if (sessions.size === 0) return usage;
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = parseProcStat(readIfThere(`/proc/${name}/stat`));
    if (stat === undefined || !sessions.has(stat.session)) continue;
    const sum = usage.get(stat.session) ?? none;
    usage.set(stat.session, {
      cpuNanos: sum.cpuNanos + stat.cpuTicks * nanosPerTick,
      residentBytes: sum.residentBytes + residentBytes(readIfThere(`/proc/${name}/status`)),
      processes: sum.processes + 1,
    });
  }
  return usage;
}

/**
 * From `/proc/<pid>/status`, which needs no page size; 0 for a process without memory, such as a dead one.
 */
export function residentBytes(status: string): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
}

/** These files have no disk behind them: reading one is faster than a thread-pool round trip. */
function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // The process has ended since it was listed.
    return '';
  }
}

function sessionOf({ state }: ProcessContainer): number[] {
  return state.kind === 'running' ? [state.process.pid] : [];
}

function cpu(timestamp: bigint, cpuNanos: number, nanoCores: number): ContainerStats['cpu'] {
  return {
    timestamp,
    usageCoreNanoSeconds: { value: cpuNanos },
    usageNanoCores: { value: nanoCores },
    psi: undefined,
  };
}

function memory(timestamp: bigint, bytes: number): ContainerStats['memory'] {
  return {
    timestamp,
    workingSetBytes: { value: bytes },
    availableBytes: undefined,
    usageBytes: { value: bytes },
    rssBytes: { value: bytes },
    pageFaults: undefined,
    majorPageFaults: undefined,
    psi: undefined,
  };
}
