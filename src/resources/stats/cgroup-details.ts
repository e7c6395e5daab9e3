/** What `/metrics/cadvisor` tells of one cgroup beyond the summary, from either version of the kernel's files. */
import { sharesOfWeight } from '../../kube/index.js';
import { type BlkioSet, blkioDevices, type DeviceIo, ioStatDevices } from './block-io.js';
import { type CgroupText, keyedIn, limitOf } from './cgroup.js';

export interface CgroupDetails {
  readonly cpu: {
    readonly userSeconds: number;
    readonly systemSeconds: number;
    /** Undefined without a quota. */
    readonly throttling: CpuThrottling | undefined;
  };
  readonly memory: MemoryDetails;
  readonly devices: readonly DeviceIo[];
  readonly threads: number;
  /** 0 for no limit. */
  readonly threadsMax: number;
  readonly spec: CgroupSpec;
}

export interface CpuThrottling {
  readonly periods: number;
  readonly throttledPeriods: number;
  readonly throttledSeconds: number;
  readonly burstPeriods: number;
  readonly burstSeconds: number;
}

export interface MemoryDetails {
  readonly cacheBytes: number;
  readonly mappedFileBytes: number;
  readonly kernelBytes: number;
  readonly maxUsageBytes: number;
  readonly failures: number;
  readonly activeFileBytes: number;
  readonly inactiveFileBytes: number;
  readonly eventsHigh: number;
  readonly eventsMax: number;
  readonly fileDirtyBytes: number;
  readonly fileWritebackBytes: number;
  readonly pagesScanned: number;
  readonly pagesStolen: number;
  readonly refaultsFile: number;
  readonly refaultsAnon: number;
}

/** Limits; 0 for none. */
export interface CgroupSpec {
  readonly cpuPeriodMicros: number;
  readonly cpuQuotaMicros: number | undefined;
  readonly cpuShares: number;
  readonly memoryLimitBytes: number;
  readonly swapLimitBytes: number;
  readonly reservationBytes: number;
}

export function detailsOfV2(read: CgroupText, isRoot: boolean): CgroupDetails {
  const cpu = numbersIn(read, 'cpu.stat');
  const memory = numbersIn(read, 'memory.stat');
  const events = numbersIn(read, 'memory.events');
  const [quota = 'max', period = '0'] = (read('cpu.max') ?? '').trim().split(' ');
  const hasQuota = /^\d+$/.test(quota) && Number(quota) > 0;
  return {
    cpu: {
      userSeconds: cpu('user_usec') / 1e6,
      systemSeconds: cpu('system_usec') / 1e6,
      throttling: hasQuota
        ? {
            periods: cpu('nr_periods'),
            throttledPeriods: cpu('nr_throttled'),
            throttledSeconds: cpu('throttled_usec') / 1e6,
            burstPeriods: cpu('nr_bursts'),
            burstSeconds: cpu('burst_usec') / 1e6,
          }
        : undefined,
    },
    memory: {
      cacheBytes: memory('file'),
      mappedFileBytes: memory('file_mapped'),
      kernelBytes: 0,
      maxUsageBytes: numberIn(read('memory.peak')),
      failures: 0,
      activeFileBytes: memory('active_file'),
      inactiveFileBytes: memory('inactive_file'),
      eventsHigh: events('high'),
      eventsMax: events('max'),
      fileDirtyBytes: memory('file_dirty'),
      fileWritebackBytes: memory('file_writeback'),
      pagesScanned: memory('pgscan'),
      pagesStolen: memory('pgsteal'),
      refaultsFile: memory('workingset_refault_file'),
      refaultsAnon: memory('workingset_refault_anon'),
    },
    devices: ioStatDevices(read('io.stat') ?? ''),
    threads: numberIn(read('pids.current')),
    threadsMax: numberIn(read('pids.max')),
    spec: {
      cpuPeriodMicros: numberIn(period),
      cpuQuotaMicros: hasQuota ? Number(quota) : undefined,
      cpuShares: isRoot ? 0 : sharesIn(read('cpu.weight')),
      memoryLimitBytes: limitOf(read('memory.max')) ?? 0,
      swapLimitBytes: limitOf(read('memory.swap.max')) ?? 0,
      reservationBytes: limitOf(read('memory.min')) ?? 0,
    },
  };
}

/** The files of each controller of version 1. */
export interface CgroupTextsV1 {
  readonly cpu: CgroupText;
  readonly cpuacct: CgroupText;
  readonly memory: CgroupText;
  readonly pids: CgroupText;
  readonly blkio: CgroupText;
}

/** The kernel counts `cpuacct.stat` in hundredths of a second. */
const ticksPerSecond = 100;

export function detailsOfV1(
  texts: CgroupTextsV1,
  isRoot: boolean,
  blkioSets?: readonly BlkioSet[],
): CgroupDetails {
  const ticks = numbersIn(texts.cpuacct, 'cpuacct.stat');
  const memory = numbersIn(texts.memory, 'memory.stat');
  const quota = Number(texts.cpu('cpu.cfs_quota_us') ?? -1);
  const cpu = quota > 0 ? numbersIn(texts.cpu, 'cpu.stat') : () => 0;
  return {
    cpu: {
      userSeconds: ticks('user') / ticksPerSecond,
      systemSeconds: ticks('system') / ticksPerSecond,
      throttling:
        quota > 0
          ? {
              periods: cpu('nr_periods'),
              throttledPeriods: cpu('nr_throttled'),
              throttledSeconds: cpu('throttled_time') / 1e9,
              burstPeriods: 0,
              burstSeconds: 0,
            }
          : undefined,
    },
    memory: {
      cacheBytes: memory('total_cache'),
      mappedFileBytes: memory('total_mapped_file'),
      kernelBytes: numberIn(texts.memory('memory.kmem.usage_in_bytes')),
      maxUsageBytes: numberIn(texts.memory('memory.max_usage_in_bytes')),
      failures: numberIn(texts.memory('memory.failcnt')),
      activeFileBytes: memory('total_active_file'),
      inactiveFileBytes: memory('total_inactive_file'),
      eventsHigh: 0,
      eventsMax: 0,
      fileDirtyBytes: 0,
      fileWritebackBytes: 0,
      pagesScanned: 0,
      pagesStolen: 0,
      refaultsFile: 0,
      refaultsAnon: 0,
    },
    devices: blkioDevices(texts.blkio, blkioSets),
    threads: isRoot ? 0 : numberIn(texts.pids('pids.current')),
    threadsMax: isRoot ? 0 : numberIn(texts.pids('pids.max')),
    spec: {
      cpuPeriodMicros: numberIn(texts.cpu('cpu.cfs_period_us')),
      cpuQuotaMicros: quota > 0 ? quota : undefined,
      cpuShares: numberIn(texts.cpu('cpu.shares')),
      memoryLimitBytes: limitOf(texts.memory('memory.limit_in_bytes')) ?? 0,
      swapLimitBytes: limitOf(texts.memory('memory.memsw.limit_in_bytes')) ?? 0,
      reservationBytes: limitOf(texts.memory('memory.soft_limit_in_bytes')) ?? 0,
    },
  };
}

function numbersIn(read: CgroupText, file: string): (key: string) => number {
  const found = keyedIn(read, file);
  return (key) => found.get(key) ?? 0;
}

/** 0 for a file that is not there, or that says `max`. */
function numberIn(text: string | undefined): number {
  const value = Number((text ?? '').trim());
  return Number.isFinite(value) ? value : 0;
}

function sharesIn(weight: string | undefined): number {
  const value = numberIn(weight);
  return value === 0 ? 0 : sharesOfWeight(value);
}
