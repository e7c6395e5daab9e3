/** Usage of the whole machine: the port, and its Linux implementation for either cgroup version. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Clock } from '../../async/index.js';
import { type Host, linuxHost, measureFilesIn, measureTree, type TreeSize } from '../../host/index.js';
import {
  type CgroupVersion,
  cgroupNumbers,
  cgroupOfProcess,
  cgroupUsage,
  cgroupVersion,
  usageOf,
} from './cgroup.js';
import { networkOf, statsTime } from './cri-usage.js';
import { bootTimeMs, memInfo, netDev, pressure, processCount } from './machine-files.js';
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
}

export function linuxMachine({
  clock,
  procRoot = '/proc',
  cgroupRoot = '/sys/fs/cgroup',
  host = linuxHost(),
}: LinuxMachineOptions): Machine {
  const proc = (name: string): Promise<string> => readFile(path.join(procRoot, name), 'utf8');
  let version: Promise<CgroupVersion> | undefined;
  const versionOf = (): Promise<CgroupVersion> => {
    version ??= cgroupVersion(cgroupRoot);
    return version;
  };
  const orNothing = (text: Promise<string>): Promise<string | undefined> => text.catch(() => undefined);
  return {
    async usage() {
      const version = await versionOf();
      const [numbers, info, procStat, cpuPressure, memoryPressure, ioPressure] = await Promise.all([
        cgroupNumbers(cgroupRoot, version, '/'),
        proc('meminfo'),
        proc('stat'),
        // A kernel without pressure figures still reports the rest.
        orNothing(proc('pressure/cpu')),
        orNothing(proc('pressure/memory')),
        orNothing(proc('pressure/io')),
      ]);
      const memory = memInfo(info);
      const swapTotal = memory.get('SwapTotal') ?? 0;
      const nowMs = clock.now();
      const usage = usageOf(
        {
          ...numbers,
          // The machine's memory limits the root.
          limitBytes: memory.get('MemTotal'),
          swapUsageBytes: swapTotal - (memory.get('SwapFree') ?? 0),
          swapLimitBytes: swapTotal,
          cpuPressure,
          memoryPressure,
        },
        nowMs,
      );
      const io = { time: statsTime(nowMs), psi: pressure(ioPressure) };
      return { bootTimeMs: bootTimeMs(procStat) ?? 0, ...usage, io };
    },
    cgroup: async (name) => cgroupUsage(cgroupRoot, await versionOf(), name, clock.now()),
    async firstCgroup(names) {
      const root = (await versionOf()) === 2 ? cgroupRoot : path.join(cgroupRoot, 'memory');
      for (const name of names) if (existsSync(path.join(root, name))) return name;
      return undefined;
    },
    async processes(name) {
      const root = (await versionOf()) === 2 ? cgroupRoot : path.join(cgroupRoot, 'cpu');
      const text = await orNothing(
        readFile(path.join(root, path.posix.join('/', name), 'cgroup.procs'), 'utf8'),
      );
      return text === undefined ? 0 : text.split('\n').filter((line) => line !== '').length;
    },
    ownCgroup: async () => cgroupOfProcess((await orNothing(proc('self/cgroup'))) ?? ''),
    network: async () => networkOf(statsTime(clock.now()), netDev(await proc('1/net/dev'))),
    async limits() {
      const [pidMax, threadsMax, load] = await Promise.all([
        proc('sys/kernel/pid_max'),
        proc('sys/kernel/threads-max'),
        proc('loadavg'),
      ]);
      const curproc = processCount(load);
      return {
        maxpid: Math.min(Number(pidMax), Number(threadsMax)),
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
