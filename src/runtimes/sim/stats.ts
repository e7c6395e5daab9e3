/** The statistics of a simulated runtime: valid messages of nearly idle containers. */
import type { ContainerStats, PodSandboxStats } from '../../cri/index.js';
import type { SimContainer, SimSandbox } from './store.js';

const workingSetBytes = 1024 * 1024;

export function simContainerStats(container: SimContainer, atNs: bigint): ContainerStats {
  const { config, state } = container;
  const running = state.kind === 'running';
  return {
    attributes: {
      id: container.id,
      metadata: config.metadata,
      labels: config.labels,
      annotations: config.annotations,
    },
    cpu: running ? cpu(atNs) : undefined,
    memory: running ? memory(atNs) : undefined,
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
  return {
    attributes: {
      id: sandbox.id,
      metadata: config.metadata,
      labels: config.labels,
      annotations: config.annotations,
    },
    linux: {
      cpu: cpu(atNs),
      memory: memory(atNs),
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

function cpu(timestamp: bigint): ContainerStats['cpu'] {
  return {
    timestamp,
    usageCoreNanoSeconds: { value: 0 },
    usageNanoCores: { value: 0 },
    psi: undefined,
  };
}

function memory(timestamp: bigint): ContainerStats['memory'] {
  return {
    timestamp,
    workingSetBytes: { value: workingSetBytes },
    availableBytes: { value: 0 },
    usageBytes: { value: workingSetBytes },
    rssBytes: { value: workingSetBytes },
    pageFaults: { value: 0 },
    majorPageFaults: { value: 0 },
    psi: undefined,
  };
}
