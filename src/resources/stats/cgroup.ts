/** What one cgroup uses, as the summary needs it, from either version of the kernel's files. */
import { statsTime } from './cri-usage.js';
import type { CgroupUsage } from './machine.js';
import { KeyedNumbers, pressure } from './machine-files.js';

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
  readonly ioPressure?: string | undefined;
}

/** The text of a file of the cgroup; undefined if there is none. */
export type CgroupText = (file: string) => string | undefined;

const keyed = new WeakMap<CgroupText, Map<string, KeyedNumbers>>();

/** The `key value` lines of a file; empty if there is none. */
export function keyedIn(read: CgroupText, file: string): KeyedNumbers {
  const files = keyed.get(read) ?? new Map<string, KeyedNumbers>();
  keyed.set(read, files);
  const known = files.get(file);
  if (known !== undefined) return known;
  const numbers = new KeyedNumbers(read(file) ?? '');
  files.set(file, numbers);
  return numbers;
}

/** Throws if the cgroup is gone. */
export function numbersOfV2(read: CgroupText): CgroupNumbers {
  needed(read, 'cpu.stat');
  needed(read, 'memory.stat');
  const usage = keyedIn(read, 'cpu.stat').get('usage_usec') ?? 0;
  const counts = keyedIn(read, 'memory.stat');
  const count = (key: string): number => counts.get(key) ?? 0;
  const current = read('memory.current');
  const swapCurrent = read('memory.swap.current');
  return {
    usageCoreNanoSeconds: BigInt(usage) * 1000n,
    // The root has no such file.
    usageBytes: current === undefined ? count('anon') + count('file') : Number(current),
    inactiveFileBytes: count('inactive_file'),
    rssBytes: count('anon'),
    pageFaults: count('pgfault'),
    majorPageFaults: count('pgmajfault'),
    limitBytes: limitOf(read('memory.max')),
    swapUsageBytes: swapCurrent === undefined ? undefined : Number(swapCurrent),
    swapLimitBytes: limitOf(read('memory.swap.max')),
    cpuPressure: read('cpu.pressure'),
    memoryPressure: read('memory.pressure'),
    ioPressure: read('io.pressure'),
  };
}

/** Throws if the cgroup is gone. */
export function numbersOfV1(cpuacct: CgroupText, memory: CgroupText): CgroupNumbers {
  const usage = needed(cpuacct, 'cpuacct.usage');
  needed(memory, 'memory.stat');
  const counts = keyedIn(memory, 'memory.stat');
  const count = (key: string): number => counts.get(key) ?? 0;
  return {
    usageCoreNanoSeconds: wholeNumber('cpuacct.usage', usage),
    usageBytes: Number(wholeNumber('memory.usage_in_bytes', needed(memory, 'memory.usage_in_bytes'))),
    inactiveFileBytes: count('total_inactive_file'),
    // Without a hierarchy the totals are those of the cgroup alone.
    rssBytes: counts.get('total_rss') ?? count('rss'),
    pageFaults: count('pgfault'),
    majorPageFaults: count('pgmajfault'),
    limitBytes: limitOf(memory('memory.limit_in_bytes')),
    swapUsageBytes: counts.get('total_swap'),
    // The file limits memory and swap together, and is taken as it is.
    swapLimitBytes: limitOf(memory('memory.memsw.limit_in_bytes')),
  };
}

function needed(read: CgroupText, file: string): string {
  const text = read(file);
  if (text === undefined) throw new Error(`ENOENT: the cgroup has no ${file}`);
  return text;
}

/** Parses a file that holds one number. */
function wholeNumber(file: string, text: string): bigint {
  const digits = text.trim();
  if (!/^\d{1,20}$/.test(digits)) throw new Error(`${file} does not hold a number`);
  return BigInt(digits);
}

export function workingSetOf({ usageBytes, inactiveFileBytes }: CgroupNumbers): number {
  return Math.max(usageBytes - inactiveFileBytes, 0);
}

export function usageOf(numbers: CgroupNumbers, nowMs: number): Omit<CgroupUsage, 'createdAtMs'> {
  const time = statsTime(nowMs);
  const { usageCoreNanoSeconds, usageBytes, limitBytes, swapUsageBytes, swapLimitBytes } = numbers;
  const workingSetBytes = workingSetOf(numbers);
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
    io: { time, psi: pressure(numbers.ioPressure) },
  };
}

/** Undefined for no limit: the file says so, or the value exceeds any machine. */
export function limitOf(text: string | undefined): number | undefined {
  const value = Number((text ?? 'max').trim());
  return Number.isNaN(value) || value > 2 ** 62 ? undefined : value;
}

/** The cgroup of a process, from its `/proc/<pid>/cgroup`; the memory controller's if there are several. */
export function cgroupOfProcess(text: string): string | undefined {
  const [, ofMemory] = /^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(\/.*)$/m.exec(text) ?? [];
  return ofMemory ?? /^0::(\/.*)$/m.exec(text)?.[1];
}
