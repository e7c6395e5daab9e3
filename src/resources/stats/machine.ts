/** Usage of the whole machine: the port, and its Linux implementation for either cgroup version. */
import path from 'node:path';
import type { Clock } from '../../async/index.js';
import { type Host, linuxHost, measureFilesIn, measureTree, type TreeSize } from '../../host/index.js';
import { cgroupOfProcess } from './cgroup.js';
import { CgroupSampler } from './cgroup-sampler.js';
import { networkOf, statsTime } from './cri-usage.js';
import { linuxKernelFiles } from './kernel-files.js';
import { statsLimits } from './limits.js';
import { bootTimeMs, netDev, processCount } from './machine-files.js';
import type { CpuStats, FsStats, IoStats, MemoryStats, NetworkStats, SwapStats } from './summary-types.js';

export interface MachineUsage {
  readonly bootTimeMs: number;
  readonly cpu: Omit<CpuStats, 'usageNanoCores'>;
  /** When the reading was made; below, the total CPU time since boot. */
  readonly timestampNs: bigint;
  readonly usageCoreNanoSeconds: bigint;
  readonly memory: MemoryStats;
  /** All that there is. */
  readonly memoryLimitBytes?: number | undefined;
  readonly swap: SwapStats;
  readonly io: IoStats;
}

export interface CgroupUsage {
  readonly createdAtMs: number;
  readonly timestampNs: bigint;
  readonly usageCoreNanoSeconds: bigint;
  readonly cpu: Omit<CpuStats, 'usageNanoCores'>;
  readonly memory: MemoryStats;
  /** Undefined for no limit. */
  readonly memoryLimitBytes?: number | undefined;
  readonly swap: SwapStats;
  readonly io?: IoStats;
}

export interface DirectoryUsage {
  readonly usedBytes: number;
  readonly inodesUsed: number;
}

export interface Machine {
  /** Rejects if the root cgroup cannot be read. */
  usage(): Promise<MachineUsage>;
  /** `name` begins with a slash: `/system.slice`. Rejects if there is no such cgroup. */
  cgroup(name: string): Promise<CgroupUsage>;
  /** The first existing cgroup; undefined if there is none. */
  firstCgroup(names: readonly string[]): Promise<string | undefined>;
  /** How many processes are in a cgroup itself; zero if there is no such cgroup. */
  processes(name: string): Promise<number>;
  /** The cgroup of this process; undefined if unknown. */
  ownCgroup(): Promise<string | undefined>;
  network(): Promise<NetworkStats>;
  limits(): Promise<{ readonly maxpid?: number; readonly curproc?: number }>;
  /** The file system that holds the path. */
  fileSystem(path: string): Promise<FsStats>;
  /** The device of that file system; two paths are on the same one if and only if these are equal. */
  device(path: string): Promise<bigint>;
  /** The files directly in a directory; zero if it does not exist. */
  filesIn(path: string): Promise<DirectoryUsage>;
  /** The directory and everything below it on the same device; a file with several names counts once. */
  tree(path: string, signal?: AbortSignal): Promise<DirectoryUsage>;
}

export interface LinuxMachineOptions {
  readonly clock: Clock;
  readonly procRoot?: string;
  readonly cgroupRoot?: string;
  /** Where files are measured. Default: this machine. */
  readonly host?: Host;
  /** Reads the cgroups. Default: one of its own. */
  readonly cgroups?: CgroupSampler;
}

export function linuxMachine({
  clock,
  procRoot = '/proc',
  cgroupRoot = '/sys/fs/cgroup',
  host = linuxHost(),
  cgroups,
}: LinuxMachineOptions): Machine {
  const files = linuxKernelFiles(statsLimits);
  const sampler = cgroups ?? new CgroupSampler({ clock, files, procRoot, cgroupRoot });
  const proc = (name: string): string => {
    const text = files.read(path.join(procRoot, name));
    if (text === undefined) throw new Error(`${path.join(procRoot, name)} cannot be read`);
    return text;
  };
  return {
    async usage() {
      const { createdAtMs: _, io, ...usage } = sampler.sample('/').usage;
      const time = statsTime(clock.now());
      return { bootTimeMs: bootTimeMs(proc('stat')) ?? 0, ...usage, io: io ?? { time } };
    },
    cgroup: async (name) => sampler.sample(name).usage,
    firstCgroup: async (names) => names.find((name) => sampler.isThere(name)),
    processes: async (name) => sampler.pids(name).length,
    ownCgroup: async () => cgroupOfProcess(files.read(path.join(procRoot, 'self/cgroup')) ?? ''),
    network: async () => networkOf(statsTime(clock.now()), netDev(proc('1/net/dev'))),
    async limits() {
      const curproc = processCount(proc('loadavg'));
      return {
        maxpid: Math.min(Number(proc('sys/kernel/pid_max')), Number(proc('sys/kernel/threads-max'))),
        ...(curproc === undefined ? {} : { curproc }),
      };
    },
    async fileSystem(place) {
      const { blockBytes, blocks, freeBlocks, availableBlocks, inodes, freeInodes } = await host
        .apart(place)
        .files.statFileSystem(place);
      return {
        time: statsTime(clock.now()),
        availableBytes: availableBlocks * blockBytes,
        capacityBytes: blocks * blockBytes,
        usedBytes: (blocks - freeBlocks) * blockBytes,
        inodesFree: freeInodes,
        inodes,
        inodesUsed: inodes - freeInodes,
      };
    },
    device: async (place) => (await host.apart(place).files.stat(place)).device,
    filesIn: async (directory) => usageOfTree(await measureFilesIn(host, directory)),
    tree: async (top, signal) => usageOfTree(await measureTree(host, top, signal)),
  };
}

function usageOfTree({ allocatedBytes, inodes }: TreeSize): DirectoryUsage {
  return { usedBytes: allocatedBytes, inodesUsed: inodes };
}
