/** One pod's entry of the summary, from the runtime's measurements and its disk usage. */
import {
  cpuStats,
  ioStats,
  memoryStats,
  networkStats,
  statsTime,
  statsTimeOfNs,
  swapStats,
} from './cri-usage.js';
import type { CgroupUsage, DirectoryUsage } from './machine.js';
import type { MeasuredContainer, MeasuredPod } from './stats-set.js';
import type {
  ContainerStatsSummary,
  CpuStats,
  FsStats,
  MemoryStats,
  NetworkStats,
  PodStatsSummary,
  StatsTime,
  SwapStats,
  VolumeStats,
} from './summary-types.js';

/** Storage of a pod measured by the owner of its volumes. */
export interface PodVolumeUsage {
  readonly volumes: readonly VolumeStats[];
  /** The volumes that count as ephemeral storage. */
  readonly ephemeral: DirectoryUsage;
}

/** Inputs for storage; omitted if only CPU and memory are requested. */
export interface PodStorage {
  readonly nodeFs: FsStats;
  /** The file system of a writable layer, by mount point. */
  readonly layerFs: (mountpoint: string) => FsStats | undefined;
  readonly containerLogs: (container: string) => DirectoryUsage;
  /** The files directly in the pod's log directory. */
  readonly podLogs: DirectoryUsage;
  /** The `/etc/hosts` that is made for the pod. */
  readonly hostsFile: DirectoryUsage;
  readonly volumes?: PodVolumeUsage | undefined;
}

export interface PodSummaryInput {
  readonly pod: MeasuredPod;
  readonly nowMs: number;
  /** The CPU rate of a container or sandbox, if the runtime reports none. */
  readonly rate: (id: string) => number | undefined;
  readonly storage: PodStorage | undefined;
  /** The processes of all containers, if the runtime reports none. */
  readonly processes?: number | undefined;
  /** The kernel's own figures, which come before the runtime's. */
  readonly figures: PodFigures;
}

export interface PodFigures {
  /** Of the pod's own cgroup. */
  readonly pod?: CgroupFigures | undefined;
  readonly container: (id: string) => CgroupFigures | undefined;
  readonly network?: NetworkStats | undefined;
}

export interface CgroupFigures {
  readonly usage: CgroupUsage;
  /** Undefined for the first reading. */
  readonly rateNanoCores: number | undefined;
}

export function podSummary(input: PodSummaryInput): PodStatsSummary {
  const { pod, rate, storage, figures } = input;
  const own = figures.pod?.usage;
  const containers = pod.containers.map((container) => containerSummary(container, input));
  const linux = pod.stats?.linux;
  const summary: PodStatsSummary = {
    podRef: { name: pod.name, namespace: pod.namespace, uid: pod.uid },
    startTime: statsTimeOfNs(pod.sandbox.createdAt),
    containers,
    cpu:
      own !== undefined
        ? { ...own.cpu, usageNanoCores: figures.pod?.rateNanoCores ?? 0 }
        : linux?.cpu === undefined
          ? sumCpu(containers)
          : cpuStats(linux.cpu, rate(pod.sandbox.id)),
    memory: own?.memory ?? (linux?.memory === undefined ? sumMemory(containers) : memoryStats(linux.memory)),
    swap: own?.swap ?? sumSwap(containers),
  };
  if (storage === undefined) return summary;
  const io = own?.io ?? (linux?.io === undefined ? undefined : ioStats(linux.io));
  if (io !== undefined) summary.io = io;
  const network = figures.network ?? (linux?.network === undefined ? undefined : networkStats(linux.network));
  if (network !== undefined) summary.network = network;
  const processCount = linux?.process?.processCount?.value ?? input.processes;
  if (processCount !== undefined) summary.process_stats = { process_count: processCount };
  if (storage.volumes !== undefined && storage.volumes.volumes.length > 0) {
    summary.volume = [...storage.volumes.volumes];
  }
  summary['ephemeral-storage'] = ephemeralStorage(containers, storage, input.nowMs);
  return summary;
}

function containerSummary(
  { name, container, stats }: MeasuredContainer,
  { nowMs, rate, storage, figures }: PodSummaryInput,
): ContainerStatsSummary {
  const now = statsTime(nowMs);
  const { cpu, memory, swap, io, writableLayer } = stats;
  const own = ofRunning(figures.container(container.id));
  const summary: ContainerStatsSummary = {
    name,
    startTime: statsTimeOfNs(container.createdAt),
    // Missing values count as zero, so that sums over containers stay sums.
    cpu: {
      ...(cpu === undefined
        ? { time: now, usageNanoCores: 0, usageCoreNanoSeconds: 0 }
        : cpuStats(cpu, rate(container.id))),
      ...own?.usage.cpu,
      ...(own?.rateNanoCores === undefined ? {} : { usageNanoCores: own.rateNanoCores }),
    },
    memory:
      own?.usage.memory ?? (memory === undefined ? { time: now, workingSetBytes: 0 } : memoryStats(memory)),
    swap:
      own?.usage.swap ??
      (swap === undefined ? { time: now, swapAvailableBytes: 0, swapUsageBytes: 0 } : swapStats(swap)),
  };
  if (storage === undefined) return summary;
  const told = own?.usage.io ?? (io === undefined ? undefined : ioStats(io));
  if (told !== undefined) summary.io = told;
  if (writableLayer !== undefined) {
    summary.rootfs = {
      ...capacityOf(storage.layerFs(writableLayer.fsId?.mountpoint ?? '')),
      time: statsTimeOfNs(writableLayer.timestamp),
      ...used(writableLayer.usedBytes, writableLayer.inodesUsed),
    };
  }
  summary.logs = { ...capacityOf(storage.nodeFs), time: now, ...storage.containerLogs(name) };
  return summary;
}

/** A cgroup that does nothing and holds nothing is of a container that has ended: the runtime's numbers stay. */
function ofRunning(figures: CgroupFigures | undefined): CgroupFigures | undefined {
  if (figures === undefined) return undefined;
  const isEnded = (figures.rateNanoCores ?? 0) === 0 && (figures.usage.memory.rssBytes ?? 0) === 0;
  return isEnded ? undefined : figures;
}

function used(
  bytes: { readonly value: number } | undefined,
  inodes: { readonly value: number } | undefined,
): Pick<FsStats, 'usedBytes' | 'inodesUsed'> {
  return {
    ...(bytes === undefined ? {} : { usedBytes: bytes.value }),
    ...(inodes === undefined ? {} : { inodesUsed: inodes.value }),
  };
}

/** A file system's capacity, without its usage. */
export function capacityOf(fs: FsStats | undefined): Omit<FsStats, 'usedBytes' | 'inodesUsed' | 'time'> {
  const { time: _, usedBytes: __, inodesUsed: ___, ...capacity } = fs ?? { time: null };
  return capacity;
}

function ephemeralStorage(
  containers: readonly ContainerStatsSummary[],
  { nodeFs, podLogs, hostsFile, volumes }: PodStorage,
  nowMs: number,
): FsStats {
  const parts: readonly (Pick<FsStats, 'usedBytes' | 'inodesUsed'> | undefined)[] = [
    ...containers.flatMap(({ rootfs, logs }) => [rootfs, logs]),
    podLogs,
    hostsFile,
    volumes?.ephemeral,
  ];
  const sum = (name: 'usedBytes' | 'inodesUsed'): number =>
    parts.reduce((total, part) => total + (part?.[name] ?? 0), 0);
  return {
    ...capacityOf(nodeFs),
    time: statsTime(nowMs),
    usedBytes: sum('usedBytes'),
    inodesUsed: sum('inodesUsed'),
  };
}

function newest(times: readonly (StatsTime | undefined)[]): StatsTime {
  return times.reduce<StatsTime>(
    (last, time) => (time != null && (last === null || Date.parse(time) > Date.parse(last)) ? time : last),
    null,
  );
}

function summed<T, K extends keyof T>(parts: readonly T[], name: K): Partial<Record<K, number>> {
  const values = parts.map((part) => part[name]).filter((value) => typeof value === 'number');
  if (values.length === 0) return {};
  // A computed name widens to any string; here it is the given one.
  return { [name]: values.reduce((total, value) => total + value, 0) } as Partial<Record<K, number>>;
}

function sumCpu(containers: readonly ContainerStatsSummary[]): CpuStats {
  const parts = containers.flatMap(({ cpu }) => (cpu === undefined ? [] : [cpu]));
  return {
    time: newest(parts.map(({ time }) => time)),
    usageNanoCores: 0,
    usageCoreNanoSeconds: 0,
    ...summed(parts, 'usageNanoCores'),
    ...summed(parts, 'usageCoreNanoSeconds'),
  };
}

function sumMemory(containers: readonly ContainerStatsSummary[]): MemoryStats {
  const parts = containers.flatMap(({ memory }) => (memory === undefined ? [] : [memory]));
  return {
    time: newest(parts.map(({ time }) => time)),
    ...summed(parts, 'availableBytes'),
    ...summed(parts, 'usageBytes'),
    ...summed(parts, 'workingSetBytes'),
    ...summed(parts, 'rssBytes'),
    ...summed(parts, 'pageFaults'),
    ...summed(parts, 'majorPageFaults'),
  };
}

function sumSwap(containers: readonly ContainerStatsSummary[]): SwapStats {
  const parts = containers.flatMap(({ swap }) => (swap === undefined ? [] : [swap]));
  return {
    time: newest(parts.map(({ time }) => time)),
    ...summed(parts, 'swapAvailableBytes'),
    ...summed(parts, 'swapUsageBytes'),
  };
}
