/** The Summary API: usage of a node, its pods and their containers, in the form that kubelet clients read. */

/** RFC 3339 in whole seconds; null if never measured. */
export type StatsTime = string | null;

export interface PsiFigures {
  total: number;
  avg10: number;
  avg60: number;
  avg300: number;
}
export interface PsiStats {
  full: PsiFigures;
  some: PsiFigures;
}

export interface CpuStats {
  time: StatsTime;
  usageNanoCores?: number;
  usageCoreNanoSeconds?: number;
  psi?: PsiStats;
}

export interface MemoryStats {
  time: StatsTime;
  availableBytes?: number;
  usageBytes?: number;
  workingSetBytes?: number;
  rssBytes?: number;
  pageFaults?: number;
  majorPageFaults?: number;
  psi?: PsiStats;
}

export interface SwapStats {
  time: StatsTime;
  swapAvailableBytes?: number;
  swapUsageBytes?: number;
}

export interface IoStats {
  time: StatsTime;
  psi?: PsiStats;
}

export interface InterfaceStats {
  name: string;
  rxBytes?: number;
  rxErrors?: number;
  txBytes?: number;
  txErrors?: number;
}

/** The default interface is inlined in the object itself; the list has all interfaces. */
export interface NetworkStats extends Partial<InterfaceStats> {
  time: StatsTime;
  name: string;
  interfaces: InterfaceStats[];
}

export interface FsStats {
  time: StatsTime;
  availableBytes?: number;
  capacityBytes?: number;
  usedBytes?: number;
  inodesFree?: number;
  inodes?: number;
  inodesUsed?: number;
}

export interface VolumeStats extends FsStats {
  name: string;
  pvcRef?: { name: string; namespace: string };
  volumeHealthStats?: { abnormal: boolean };
}

export interface ContainerStatsSummary {
  name: string;
  startTime: StatsTime;
  cpu?: CpuStats;
  memory?: MemoryStats;
  io?: IoStats;
  rootfs?: FsStats;
  logs?: FsStats;
  swap?: SwapStats;
}

export interface PodStatsSummary {
  podRef: { name: string; namespace: string; uid: string };
  startTime: StatsTime;
  containers: ContainerStatsSummary[];
  cpu?: CpuStats;
  memory?: MemoryStats;
  io?: IoStats;
  network?: NetworkStats;
  volume?: VolumeStats[];
  'ephemeral-storage'?: FsStats;
  process_stats?: { process_count?: number };
  swap?: SwapStats;
}

export interface NodeStatsSummary {
  nodeName: string;
  systemContainers?: ContainerStatsSummary[];
  startTime: StatsTime;
  cpu?: CpuStats;
  memory?: MemoryStats;
  io?: IoStats;
  network?: NetworkStats;
  fs?: FsStats;
  runtime?: { imageFs?: FsStats; containerFs?: FsStats };
  rlimit?: { time: StatsTime; maxpid?: number; curproc?: number };
  swap?: SwapStats;
}

export interface Summary {
  node: NodeStatsSummary;
  pods: PodStatsSummary[];
}
