/** What was measured of a node and its containers, for those who show it as `metrics.k8s.io`. */

export interface MeasuredUsage {
  /** When the window ended. */
  readonly atMs: number;
  /** What the CPU is averaged over. */
  readonly windowMs: number;
  readonly cpuNanoCores: number;
  /** The working set. */
  readonly memoryBytes: number;
}

export interface NodeUsage {
  /** Undefined while it is not known. */
  readonly node: MeasuredUsage | undefined;
  /** By the UID that the runtime knows a pod by; those of which all containers are measured. */
  readonly pods: ReadonlyMap<string, ReadonlyMap<string, MeasuredUsage>>;
}

export interface UsageReader {
  readonly nodeName: string;
  /** Rejects with an `ApiError` while nothing can be measured. */
  read(): Promise<NodeUsage>;
}
