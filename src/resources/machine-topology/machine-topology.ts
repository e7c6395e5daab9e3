/** The machine's processors and memory as the managers see them: read once at the start, never changed. */

export interface MachineTopology {
  /** The online CPUs, by ascending id. */
  readonly cpus: readonly CpuPlace[];
  /** All NUMA nodes, by ascending id; also those without CPUs. A bit of a `NumaMask` is a position in this list. */
  readonly numaNodes: readonly NumaNode[];
  /** How many sockets the machine has. */
  readonly socketCount: number;
}

/** Where one CPU is. */
export interface CpuPlace {
  readonly id: number;
  /** The lowest CPU id of its physical core. */
  readonly core: number;
  readonly socket: number;
  /** The id of its NUMA node. */
  readonly numaNode: number;
  /** The cache that it shares with some CPUs of its node; the socket's id if there is none. */
  readonly uncoreCache: number;
}

export interface NumaNode {
  readonly id: number;
  readonly memoryBytes: number;
  readonly hugePages: readonly NumaHugePages[];
  /** To each NUMA node, in the order of the list; empty if the machine does not tell. */
  readonly distances: readonly number[];
}

export interface NumaHugePages {
  readonly sizeBytes: number;
  readonly pages: number;
}
