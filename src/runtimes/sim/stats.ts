/** The statistics of a simulated runtime: what the script of each container says that it uses. */
import type { ContainerStats, PodSandboxStats } from '../../cri/index.js';
import { scheduledSum, scheduledValue } from './schedule.js';
import type { SimContainer, SimSandbox } from './store.js';

const idleMemoryBytes = 1024 * 1024;
/** What a start takes. A metrics-server shows nothing of a pod with a container that has used no CPU time at all. */
const startCpuMs = 1;

/** What a container uses now, and all the CPU time that it has used. */
export interface SimUsage {
  readonly cpus: number;
  readonly cpuMs: number;
  readonly memoryBytes: number;
}

const nothing: SimUsage = { cpus: 0, cpuMs: 0, memoryBytes: 0 };

export function simUsage({ state, script }: SimContainer, atNs: bigint): SimUsage {
  if (state.kind !== 'running' && state.kind !== 'exited') return nothing;
  const { cpus, memoryBytes } = script.usage;
  const endNs = state.kind === 'exited' ? state.finishedAt : atNs;
  const ranMs = Math.max(0, Number(endNs - state.startedAt) / 1e6);
  const cpuMs = startCpuMs + (cpus === undefined ? 0 : scheduledSum(cpus, ranMs));
  if (state.kind === 'exited') return { ...nothing, cpuMs };
  return {
    cpus: cpus === undefined ? 0 : scheduledValue(cpus, ranMs),
    cpuMs,
    memoryBytes: memoryBytes === undefined ? idleMemoryBytes : scheduledValue(memoryBytes, ranMs),
  };
}

/** Of all containers, with the CPU time of those that have exited. */
export function simUsageOf(containers: Iterable<SimContainer>, atNs: bigint): SimUsage {
  let sum = nothing;
  for (const container of containers) {
    const { cpus, cpuMs, memoryBytes } = simUsage(container, atNs);
    sum = {
      cpus: sum.cpus + cpus,
      cpuMs: sum.cpuMs + cpuMs,
      memoryBytes: sum.memoryBytes + memoryBytes,
    };
  }
  return sum;
}

export function simContainerStats(container: SimContainer, atNs: bigint): ContainerStats {
  const { config, state } = container;
  const running = state.kind === 'running';
  const used = simUsage(container, atNs);
  return {
    attributes: {
      id: container.id,
      metadata: config.metadata,
      labels: config.labels,
      annotations: config.annotations,
    },
    cpu: running ? cpu(atNs, used) : undefined,
    memory: running ? memory(atNs, used.memoryBytes) : undefined,
    writableLayer: {
      timestamp: atNs,
      fsId: { mountpoint: '/sim' },
      usedBytes: { value: 0 },
      inodesUsed: { value: 0 },
    },
    swap: undefined,
    io: undefined,
  };
}

export function simSandboxStats(sandbox: SimSandbox, atNs: bigint): PodSandboxStats {
  const { config } = sandbox;
  const running = [...sandbox.containers].filter(({ state }) => state.kind === 'running');
  const used = simUsageOf(sandbox.containers, atNs);
  return {
    attributes: {
      id: sandbox.id,
      metadata: config.metadata,
      labels: config.labels,
      annotations: config.annotations,
    },
    linux: {
      cpu: cpu(atNs, used),
      memory: memory(atNs, used.memoryBytes),
      network: {
        timestamp: atNs,
        defaultInterface: {
          name: 'eth0',
          rxBytes: { value: 0 },
          rxErrors: { value: 0 },
          txBytes: { value: 0 },
          txErrors: { value: 0 },
        },
        interfaces: [],
      },
      process: { timestamp: atNs, processCount: { value: running.length + 1 } },
      containers: running.map((container) => simContainerStats(container, atNs)),
      io: undefined,
    },
    windows: undefined,
  };
}

function cpu(timestamp: bigint, { cpus, cpuMs }: SimUsage): ContainerStats['cpu'] {
  return {
    timestamp,
    usageCoreNanoSeconds: { value: Math.round(cpuMs * 1e6) },
    usageNanoCores: { value: Math.round(cpus * 1e9) },
    psi: undefined,
  };
}

function memory(timestamp: bigint, usedBytes: number): ContainerStats['memory'] {
  const bytes = Math.round(usedBytes);
  return {
    timestamp,
    workingSetBytes: { value: bytes },
    availableBytes: { value: 0 },
    usageBytes: { value: bytes },
    rssBytes: { value: bytes },
    pageFaults: { value: 0 },
    majorPageFaults: { value: 0 },
    psi: undefined,
  };
}
