/** Every family of containers of `/metrics/cadvisor`: its name, type and text, and its samples of one subject. */

import { blockFamilies } from './cadvisor-block-families.js';
import type { CadvisorSubject } from './cadvisor-subject.js';
import type { CgroupSpec, CpuThrottling, MemoryDetails } from './cgroup-details.js';
import type { Family } from './exposition.js';

/** `more` are labels in the text form, after those of the subject. */
export type EmitSample = (value: number, atMs: number | undefined, more?: string) => void;

export interface CadvisorFamily extends Pick<Family, 'name' | 'help' | 'type'> {
  write(subject: CadvisorSubject, emit: EmitSample, now: ScrapeNow): void;
}

/** What is the same for all samples of a scrape. */
export interface ScrapeNow {
  readonly nowMs: number;
  readonly oomKills: (cgroup: string) => number;
}

type FigureOf<T> = (from: T) => number | undefined;

function basic(
  type: Family['type'],
  name: string,
  help: string,
  of: FigureOf<CadvisorSubject['basics']>,
): CadvisorFamily {
  return {
    name,
    help,
    type,
    write({ basics }, emit) {
      const value = of(basics);
      if (value !== undefined) emit(value, basics.atMs);
    },
  };
}

type Details = NonNullable<CadvisorSubject['sample']>;

function detail(type: Family['type'], name: string, help: string, of: FigureOf<Details>): CadvisorFamily {
  return {
    name,
    help,
    type,
    write({ sample }, emit) {
      const value = sample && of(sample);
      if (value !== undefined) emit(value, sample?.atMs);
    },
  };
}

const memory = (
  type: Family['type'],
  name: string,
  help: string,
  field: keyof MemoryDetails,
): CadvisorFamily => detail(type, `container_memory_${name}`, help, ({ details }) => details.memory[field]);

const throttled = (name: string, help: string, field: keyof CpuThrottling): CadvisorFamily =>
  detail('counter', `container_cpu_cfs_${name}`, help, ({ details }) => details.cpu.throttling?.[field]);

/** Limits are as they are now, and carry no time. */
const spec = (name: string, help: string, field: keyof CgroupSpec): CadvisorFamily => ({
  name: `container_spec_${name}`,
  help,
  type: 'gauge',
  write({ sample }, emit) {
    const value = sample?.details.spec[field];
    if (value !== undefined) emit(value, undefined);
  },
});

const directions = [
  ['receive', 'received'],
  ['transmit', 'sent'],
] as const;
const traffic = [
  ['bytes', 'bytes', 'Bytes'],
  ['packets', 'packets', 'Packets'],
  ['errors', 'errors', 'Errors of packets'],
  ['packets_dropped', 'dropped', 'Dropped packets'],
] as const;

const network: readonly CadvisorFamily[] = directions.flatMap(([direction, done]) =>
  traffic.map(
    ([name, field, what]): CadvisorFamily => ({
      name: `container_network_${direction}_${name}_total`,
      help: `${what} that were ${done}, by interface.`,
      type: 'counter',
      write({ network }, emit) {
        for (const each of network?.interfaces ?? []) {
          const value = each[direction][field];
          if (value !== undefined)
            emit(value, network?.atMs, `interface="${each.name.replace(/["\\]/g, '\\$&')}"`);
        }
      },
    }),
  ),
);

const pressures: readonly CadvisorFamily[] = (['cpu', 'memory', 'io'] as const).flatMap((resource) =>
  (
    [
      ['waiting', 'some', 'some tasks'],
      ['stalled', 'full', 'all tasks'],
    ] as const
  ).map(
    ([name, kind, who]): CadvisorFamily =>
      basic(
        'counter',
        `container_pressure_${resource}_${name}_seconds_total`,
        `Time in which ${who} waited for ${resource}, in seconds.`,
        ({ stalls }) => {
          const total = stalls?.[resource]?.[kind].total;
          return total === undefined ? undefined : total / 1e6;
        },
      ),
  ),
);

/** Before any machine: the time of a cgroup that the kernel does not tell. */
const unknownTimeSeconds = -62_135_596_800;

function wholeSeconds(ms: number | undefined): number {
  return ms === undefined || ms <= 0 ? unknownTimeSeconds : Math.floor(ms / 1000);
}

const unsorted: readonly CadvisorFamily[] = [
  {
    name: 'container_cpu_usage_seconds_total',
    help: 'CPU time that was used, in seconds.',
    type: 'counter',
    write({ basics: { cpuSeconds = 0, atMs } }, emit) {
      if (cpuSeconds > 0) emit(cpuSeconds, atMs, 'cpu="total"');
    },
  },
  detail(
    'counter',
    'container_cpu_user_seconds_total',
    'CPU time in user mode, in seconds.',
    ({ details }) => details.cpu.userSeconds,
  ),
  detail(
    'counter',
    'container_cpu_system_seconds_total',
    'CPU time in the kernel, in seconds.',
    ({ details }) => details.cpu.systemSeconds,
  ),
  throttled('periods_total', 'Periods of the quota that have passed.', 'periods'),
  throttled('throttled_periods_total', 'Periods in which the quota ran out.', 'throttledPeriods'),
  throttled(
    'throttled_seconds_total',
    'Time spent waiting for the next quota, in seconds.',
    'throttledSeconds',
  ),
  throttled('burst_periods_total', 'Periods in which saved quota was used.', 'burstPeriods'),
  throttled('burst_seconds_total', 'CPU time from saved quota, in seconds.', 'burstSeconds'),
  basic(
    'gauge',
    'container_memory_usage_bytes',
    'Memory in use, with what could be reclaimed.',
    (b) => b.usageBytes,
  ),
  basic(
    'gauge',
    'container_memory_working_set_bytes',
    'Memory in use that cannot be reclaimed at once.',
    (b) => b.workingSetBytes,
  ),
  basic('gauge', 'container_memory_rss', 'Memory that no file is behind, in bytes.', (b) => b.rssBytes),
  basic('gauge', 'container_memory_swap', 'Memory that is swapped out, in bytes.', (b) => b.swapBytes),
  memory('gauge', 'cache', 'Memory with pages of files, in bytes.', 'cacheBytes'),
  memory('gauge', 'mapped_file', 'Memory with mapped files, in bytes.', 'mappedFileBytes'),
  memory('gauge', 'kernel_usage', 'Memory of the kernel, in bytes.', 'kernelBytes'),
  memory('gauge', 'max_usage_bytes', 'The most memory that was ever in use.', 'maxUsageBytes'),
  memory('counter', 'failcnt', 'Times that the memory limit was hit.', 'failures'),
  memory(
    'gauge',
    'total_active_file_bytes',
    'Pages of files that were used lately, in bytes.',
    'activeFileBytes',
  ),
  memory(
    'gauge',
    'total_inactive_file_bytes',
    'Pages of files that were not used lately, in bytes.',
    'inactiveFileBytes',
  ),
  memory('counter', 'events_high_total', 'Times that memory.high was exceeded.', 'eventsHigh'),
  memory('counter', 'events_max_total', 'Times that memory.max was about to be exceeded.', 'eventsMax'),
  memory('gauge', 'file_dirty_bytes', 'Pages of files that are not on disk yet, in bytes.', 'fileDirtyBytes'),
  memory(
    'gauge',
    'file_writeback_bytes',
    'Pages of files that are being written, in bytes.',
    'fileWritebackBytes',
  ),
  memory('counter', 'pgscan_total', 'Pages that were looked at to reclaim memory.', 'pagesScanned'),
  memory('counter', 'pgsteal_total', 'Pages that were reclaimed.', 'pagesStolen'),
  memory(
    'counter',
    'workingset_refault_file_total',
    'Pages of files that were needed again after they were reclaimed.',
    'refaultsFile',
  ),
  memory('counter', 'workingset_refault_anon_total', 'Swapped pages that were needed again.', 'refaultsAnon'),
  {
    name: 'container_memory_failures_total',
    help: 'Page faults.',
    type: 'counter',
    write({ basics: { pageFaults, majorPageFaults, atMs } }, emit) {
      for (const scope of ['container', 'hierarchy']) {
        if (pageFaults !== undefined) emit(pageFaults, atMs, `failure_type="pgfault",scope="${scope}"`);
        if (majorPageFaults !== undefined)
          emit(majorPageFaults, atMs, `failure_type="pgmajfault",scope="${scope}"`);
      }
    },
  },
  ...blockFamilies,
  ...network,
  detail('gauge', 'container_processes', 'Processes.', ({ processes }) => processes.processes),
  detail(
    'gauge',
    'container_file_descriptors',
    'Open files of all processes.',
    ({ processes }) => processes.fileDescriptors,
  ),
  detail(
    'gauge',
    'container_sockets',
    'Open sockets of all processes.',
    ({ processes }) => processes.sockets,
  ),
  detail('gauge', 'container_threads', 'Threads.', ({ details }) => details.threads),
  detail(
    'gauge',
    'container_threads_max',
    'The most threads that there may be; 0 for no limit.',
    ({ details }) => details.threadsMax,
  ),
  {
    name: 'container_ulimits_soft',
    help: 'Soft limits of the first process; -1 for no limit.',
    type: 'gauge',
    write({ kind, sample }, emit) {
      const limit = sample?.processes.fileDescriptorLimit;
      if (kind !== 'cgroup' && limit !== undefined) emit(limit, sample?.atMs, 'ulimit="max_open_files"');
    },
  },
  {
    name: 'container_oom_events_total',
    help: 'Times that the kernel killed for want of memory.',
    type: 'counter',
    write({ id, sample }, emit, { oomKills }) {
      if (sample !== undefined) emit(oomKills(id), sample.atMs);
    },
  },
  ...pressures,
  {
    name: 'container_last_seen',
    help: 'When it was last seen, in seconds since 1970.',
    type: 'gauge',
    write: (_, emit, { nowMs }) => emit(Math.floor(nowMs / 1000), nowMs),
  },
  {
    name: 'container_health_state',
    help: 'Always -1: health is not told here.',
    type: 'gauge',
    write: ({ basics }, emit) => emit(-1, basics.atMs),
  },
  {
    name: 'container_creation_time_seconds',
    help: 'When it was made, in seconds since 1970.',
    type: 'gauge',
    write: ({ createdMs }, emit) => emit(wholeSeconds(createdMs), undefined),
  },
  {
    name: 'container_start_time_seconds',
    help: 'When it started, in seconds since 1970.',
    type: 'gauge',
    write: ({ startMs }, emit) => emit(wholeSeconds(startMs), undefined),
  },
  spec('cpu_period', 'The period of the CPU quota, in microseconds.', 'cpuPeriodMicros'),
  spec('cpu_quota', 'The CPU quota of a period, in microseconds.', 'cpuQuotaMicros'),
  spec('cpu_shares', 'The share of CPU time.', 'cpuShares'),
  spec('memory_limit_bytes', 'The memory limit; 0 for none.', 'memoryLimitBytes'),
  spec('memory_swap_limit_bytes', 'The swap limit; 0 for none.', 'swapLimitBytes'),
  spec('memory_reservation_limit_bytes', 'Memory that is kept for it; 0 for none.', 'reservationBytes'),
];

export const cadvisorFamilies: readonly CadvisorFamily[] = [...unsorted].sort((a, b) =>
  a.name < b.name ? -1 : 1,
);
