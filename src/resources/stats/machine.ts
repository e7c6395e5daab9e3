/** What the machine as a whole uses: the port, and its side on Linux with either version of cgroups. */
import { lstat, opendir, readdir, readFile, stat, statfs } from 'node:fs/promises';
import path from 'node:path';
import { type Clock, throwIfCancelled } from '../../async/index.js';
import { type CgroupVersion, cgroupNumbers, cgroupUsage, cgroupVersion, usageOf } from './cgroup.js';
import { networkOf, statsTime } from './cri-usage.js';
import { bootTimeMs, memInfo, netDev, pressure, processCount } from './machine-files.js';
import type { CpuStats, FsStats, IoStats, MemoryStats, NetworkStats, SwapStats } from './summary-types.js';

export interface MachineUsage {
  readonly bootTimeMs: number;
  readonly cpu: Omit<CpuStats, 'usageNanoCores'>;
  /** When the reading was made, and the time that all processors were used for since the start. */
  readonly timestampNs: bigint;
  readonly usageCoreNanoSeconds: bigint;
  readonly memory: MemoryStats;
  readonly swap: SwapStats;
  readonly io: IoStats;
}

export interface CgroupUsage {
  readonly createdAtMs: number;
  readonly timestampNs: bigint;
  readonly usageCoreNanoSeconds: bigint;
  readonly cpu: Omit<CpuStats, 'usageNanoCores'>;
  readonly memory: MemoryStats;
  readonly swap: SwapStats;
}

export interface DirectoryUsage {
  readonly usedBytes: number;
  readonly inodesUsed: number;
}

export interface Machine {
  /** Rejects when the root cgroup cannot be read. */
  usage(): Promise<MachineUsage>;
  /** `name` begins with a slash: `/system.slice`. Rejects when there is no such cgroup. */
  cgroup(name: string): Promise<CgroupUsage>;
  network(): Promise<NetworkStats>;
  limits(): Promise<{ readonly maxpid?: number; readonly curproc?: number }>;
  /** The file system that holds the path. */
  fileSystem(path: string): Promise<FsStats>;
  /** What lies directly in a directory; nothing where it is missing. */
  filesIn(path: string): Promise<DirectoryUsage>;
  /** The directory with all below it on the same device; what has several names counts once. */
  tree(path: string, signal?: AbortSignal): Promise<DirectoryUsage>;
}

export interface LinuxMachineOptions {
  readonly clock: Clock;
  readonly procRoot?: string;
  readonly cgroupRoot?: string;
}

export function linuxMachine({
  clock,
  procRoot = '/proc',
  cgroupRoot = '/sys/fs/cgroup',
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
        // A kernel without pressure figures is no reason to tell nothing.
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
          // What limits the root is the machine.
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
      const { bsize, blocks, bfree, bavail, files, ffree } = await statfs(place);
      return {
        time: statsTime(clock.now()),
        availableBytes: bavail * bsize,
        capacityBytes: blocks * bsize,
        usedBytes: (blocks - bfree) * bsize,
        inodesFree: ffree,
        inodes: files,
        inodesUsed: files - ffree,
      };
    },
    filesIn: async (directory) => {
      const names = (await readdir(directory).catch(ifGone)) ?? [];
      let usedBytes = 0;
      let inodesUsed = 0;
      for (const name of names) {
        // A file that was just rotated away uses nothing any more.
        const facts = await stat(path.join(directory, name)).catch(() => undefined);
        if (facts === undefined || !facts.isFile()) continue;
        usedBytes += facts.blocks * blockBytes;
        inodesUsed++;
      }
      return { usedBytes, inodesUsed };
    },
    tree: treeUsage,
  };
}

/** So that a pod with very many of them cannot fill the agent's memory. */
const mostRemembered = 100_000;

async function treeUsage(top: string, signal?: AbortSignal): Promise<DirectoryUsage> {
  const { dev } = await lstat(top);
  const seen = new Set<number>();
  const directories: string[] = [];
  let usedBytes = 0;
  let inodesUsed = 0;
  const count = async (place: string): Promise<void> => {
    throwIfCancelled(signal);
    if (directories.length > mostRemembered)
      throw new Error(`${top} has too many directories to be measured`);
    // What goes while it is counted does not count.
    const facts = await lstat(place).catch(ifGone);
    if (facts === undefined || facts.dev !== dev || seen.has(facts.ino)) return;
    usedBytes += facts.blocks * blockBytes;
    inodesUsed++;
    if (facts.isDirectory()) directories.push(place);
    else if (facts.nlink > 1 && seen.size < mostRemembered) seen.add(facts.ino);
  };
  await count(top);
  for (let place = directories.pop(); place !== undefined; place = directories.pop()) {
    if (directories.length > mostRemembered)
      throw new Error(`${top} has too many directories to be measured`);
    const directory = await opendir(place).catch(ifGone);
    if (directory === undefined) continue;
    for await (const { name } of directory) await count(path.join(place, name));
  }
  return { usedBytes, inodesUsed };
}

function ifGone(error: unknown): undefined {
  if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
}

/** Of the blocks in which `stat` counts, whatever the file system's own size is. */
const blockBytes = 512;
