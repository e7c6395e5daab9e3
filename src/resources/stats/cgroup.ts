/** The usage of one cgroup, from either version of the kernel's files. */
import { access, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { statsTime } from './cri-usage.js';
import type { CgroupUsage } from './machine.js';
import { keyedNumbers, pressure } from './machine-files.js';

export type CgroupVersion = 1 | 2;

export async function cgroupVersion(cgroupRoot: string): Promise<CgroupVersion> {
  return access(path.join(cgroupRoot, 'cgroup.controllers')).then(
    (): CgroupVersion => 2,
    (): CgroupVersion => 1,
  );
}

/** The same numbers for both versions. */
export interface CgroupNumbers {
  readonly usageCoreNanoSeconds: bigint;
  readonly usageBytes: number;
  readonly inactiveFileBytes: number;
  readonly rssBytes: number;
  readonly pageFaults: number;
  readonly majorPageFaults: number;
  /** Undefined for no limit. */
  readonly limitBytes: number | undefined;
  readonly swapUsageBytes: number | undefined;
  readonly swapLimitBytes: number | undefined;
  /** Texts of the kernel's pressure files, if it has them. */
  readonly cpuPressure?: string | undefined;
  readonly memoryPressure?: string | undefined;
}

type CgroupFileReader = (file: string) => Promise<string>;

/** Rejects if the cgroup does not exist. */
export async function cgroupUsage(
  cgroupRoot: string,
  version: CgroupVersion,
  name: string,
  nowMs: number,
): Promise<CgroupUsage> {
  const directory = path.posix.join('/', name);
  const facts = await stat(path.join(cgroupRoot, version === 2 ? '' : 'memory', directory));
  return {
    createdAtMs: facts.mtimeMs,
    ...usageOf(await cgroupNumbers(cgroupRoot, version, directory), nowMs),
  };
}

export function cgroupNumbers(
  cgroupRoot: string,
  version: CgroupVersion,
  directory: string,
): Promise<CgroupNumbers> {
  const below = (controller: string): CgroupFileReader => {
    const dir = path.join(cgroupRoot, controller, directory);
    return (file) => readFile(path.join(dir, file), 'utf8');
  };
  return version === 2 ? numbersOfV2(below('')) : numbersOfV1(below('cpuacct'), below('memory'));
}

export async function numbersOfV2(read: CgroupFileReader): Promise<CgroupNumbers> {
  // Not every kernel or level has limits, swap and pressure.
  const orNothing = (file: string): Promise<string | undefined> => read(file).catch(() => undefined);
  const [cpuStat, memoryStat, current, max, swapCurrent, swapMax, cpuPressure, memoryPressure] =
    await Promise.all([
      read('cpu.stat'),
      read('memory.stat'),
      orNothing('memory.current'),
      orNothing('memory.max'),
      orNothing('memory.swap.current'),
      orNothing('memory.swap.max'),
      orNothing('cpu.pressure'),
      orNothing('memory.pressure'),
    ]);
  const counts = keyedNumbers(memoryStat);
  const count = (key: string): number => counts.get(key) ?? 0;
  return {
    usageCoreNanoSeconds: BigInt(keyedNumbers(cpuStat).get('usage_usec') ?? 0) * 1000n,
    // The root has no such file.
    usageBytes: current === undefined ? count('anon') + count('file') : Number(current),
    inactiveFileBytes: count('inactive_file'),
    rssBytes: count('anon'),
    pageFaults: count('pgfault'),
    majorPageFaults: count('pgmajfault'),
    limitBytes: limitOf(max),
    swapUsageBytes: swapCurrent === undefined ? undefined : Number(swapCurrent),
    swapLimitBytes: limitOf(swapMax),
    cpuPressure,
    memoryPressure,
  };
}

/** Parses a file that holds one number. */
function wholeNumber(file: string, text: string): bigint {
  const digits = text.trim();
  if (!/^\d{1,20}$/.test(digits)) throw new Error(`${file} does not hold a number`);
  return BigInt(digits);
}

export async function numbersOfV1(
  cpuacct: CgroupFileReader,
  memory: CgroupFileReader,
): Promise<CgroupNumbers> {
  const [usage, stat, current, limit, both] = await Promise.all([
    cpuacct('cpuacct.usage'),
    memory('memory.stat'),
    memory('memory.usage_in_bytes'),
    memory('memory.limit_in_bytes'),
    memory('memory.memsw.limit_in_bytes').catch(() => undefined),
  ]);
  const counts = keyedNumbers(stat);
  const count = (key: string): number => counts.get(key) ?? 0;
  const limitBytes = limitOf(limit);
  const bothBytes = limitOf(both);
  return {
    usageCoreNanoSeconds: wholeNumber('cpuacct.usage', usage),
    usageBytes: Number(wholeNumber('memory.usage_in_bytes', current)),
    inactiveFileBytes: count('total_inactive_file'),
    rssBytes: count('total_rss'),
    pageFaults: count('pgfault'),
    majorPageFaults: count('pgmajfault'),
    limitBytes,
    swapUsageBytes: counts.get('total_swap'),
    // The file limits memory and swap together.
    swapLimitBytes: limitBytes === undefined || bothBytes === undefined ? undefined : bothBytes - limitBytes,
  };
}

export function usageOf(numbers: CgroupNumbers, nowMs: number): Omit<CgroupUsage, 'createdAtMs'> {
  const time = statsTime(nowMs);
  const { usageCoreNanoSeconds, usageBytes, limitBytes, swapUsageBytes, swapLimitBytes } = numbers;
  const workingSetBytes = Math.max(usageBytes - numbers.inactiveFileBytes, 0);
  return {
    timestampNs: BigInt(Math.round(nowMs)) * 1_000_000n,
    usageCoreNanoSeconds,
    memoryLimitBytes: limitBytes,
    cpu: { time, usageCoreNanoSeconds: Number(usageCoreNanoSeconds), psi: pressure(numbers.cpuPressure) },
    memory: {
      time,
      ...(limitBytes === undefined ? {} : { availableBytes: Math.max(limitBytes - workingSetBytes, 0) }),
      usageBytes,
      workingSetBytes,
      rssBytes: numbers.rssBytes,
      pageFaults: numbers.pageFaults,
      majorPageFaults: numbers.majorPageFaults,
      psi: pressure(numbers.memoryPressure),
    },
    swap: {
      time,
      ...(swapUsageBytes === undefined || swapLimitBytes === undefined
        ? {}
        : { swapAvailableBytes: Math.max(swapLimitBytes - swapUsageBytes, 0) }),
      ...(swapUsageBytes === undefined ? {} : { swapUsageBytes }),
    },
  };
}

/** Undefined for no limit: the file says so, or the value exceeds any machine. */
function limitOf(text: string | undefined): number | undefined {
  const value = Number((text ?? 'max').trim());
  return Number.isNaN(value) || value > 2 ** 62 ? undefined : value;
}

/** The cgroup of a process, from its `/proc/<pid>/cgroup`; the memory controller's if there are several. */
export function cgroupOfProcess(text: string): string | undefined {
  const [, ofMemory] = /^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(\/.*)$/m.exec(text) ?? [];
  return ofMemory ?? /^0::(\/.*)$/m.exec(text)?.[1];
}
