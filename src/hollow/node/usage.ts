/** The statistics of a hollow node: what its simulated containers use, on the machine that it pretends to be. */
import type { Clock } from '../../async/index.js';
import type { DescribedMachine } from '../../node/index.js';
import { type Machine, type StatsProvider, statsProvider } from '../../resources/stats/index.js';
import type { SimRuntime } from '../../runtimes/sim/index.js';

export interface HollowStatsOptions {
  readonly runtime: SimRuntime;
  readonly clock: Clock;
  readonly nodeName: string;
  readonly machine: () => DescribedMachine;
  readonly bootTimeMs: number;
  readonly version: string;
}

/** What the node itself uses, beside its pods. */
const ownMemoryBytes = 256 * 1024 * 1024;
/** Used at its boot: a metrics-server shows nothing of a node that has used no CPU time at all. */
const ownCpuMs = 1_000;
const inodesOf = (bytes: number): number => Math.floor(bytes / 16_384);

export function hollowStats(options: HollowStatsOptions): StatsProvider {
  const { runtime, clock, nodeName, version } = options;
  return statsProvider({
    cri: runtime,
    machine: hollowMachine(options),
    clock,
    nodeName,
    rootDir: '/',
    podLogsDir: '',
    measuredBy: async () => 'runtime',
    scrape: {
      fileSystems: async () => [],
      disks: () => new Map(),
      machine: () => {
        const { cpus, memoryBytes, swapBytes = 0, machineId = '', bootId = '' } = options.machine();
        return {
          cpuCores: cpus,
          physicalCores: cpus,
          sockets: 1,
          memoryBytes,
          swapBytes,
          dimms: [],
          machineId,
          systemUuid: machineId,
          bootId,
          kernelVersion: '',
          osVersion: '',
        };
      },
      version,
      oomKills: { of: () => 0, keep: () => {} },
    },
  });
}

function hollowMachine({ runtime, clock, machine, bootTimeMs }: HollowStatsOptions): Machine {
  // CPU time of removed containers stays part of the node's, as a counter never goes back.
  let goneCpuMs = 0;
  let lastCpuMs = 0;
  const time = (): string => new Date(clock.now()).toISOString();
  const missing = async (name: string): Promise<never> => {
    throw new Error(`a hollow node has no cgroup ${name}`);
  };
  return {
    async usage() {
      const { cpuMs, memoryBytes: ofPods } = runtime.usage();
      if (cpuMs < lastCpuMs) goneCpuMs += lastCpuMs - cpuMs;
      lastCpuMs = cpuMs;
      const usedNs = Math.round((ownCpuMs + goneCpuMs + cpuMs) * 1e6);
      const { memoryBytes: wholeBytes } = machine();
      const usedBytes = Math.min(Math.round(ofPods) + ownMemoryBytes, wholeBytes);
      return {
        bootTimeMs,
        timestampNs: BigInt(Math.round(clock.now() * 1e6)),
        usageCoreNanoSeconds: BigInt(usedNs),
        cpu: { time: time(), usageCoreNanoSeconds: usedNs },
        memory: {
          time: time(),
          availableBytes: wholeBytes - usedBytes,
          usageBytes: usedBytes,
          workingSetBytes: usedBytes,
          rssBytes: usedBytes,
          pageFaults: 0,
          majorPageFaults: 0,
        },
        memoryLimitBytes: wholeBytes,
        swap: { time: time(), swapUsageBytes: 0, swapAvailableBytes: machine().swapBytes ?? 0 },
        io: { time: time() },
      };
    },
    cgroup: missing,
    firstCgroup: async () => undefined,
    processes: async () => 0,
    ownCgroup: async () => undefined,
    network: async () => ({
      time: time(),
      name: 'eth0',
      interfaces: [{ name: 'eth0', rxBytes: 0, txBytes: 0 }],
    }),
    limits: async () => ({ maxpid: 32_768, curproc: runtime.size.containers + runtime.size.sandboxes }),
    async fileSystem() {
      const { ephemeralStorageBytes: bytes } = machine();
      return {
        time: time(),
        availableBytes: bytes,
        capacityBytes: bytes,
        usedBytes: 0,
        inodesFree: inodesOf(bytes),
        inodes: inodesOf(bytes),
        inodesUsed: 0,
      };
    },
    device: async () => 1n,
    filesIn: async () => ({ usedBytes: 0, inodesUsed: 0 }),
    tree: async () => ({ usedBytes: 0, inodesUsed: 0 }),
  };
}
