/** Gives eviction its look at the node from the statistics. */
import type { MeasuredNode, NodeFileSystems } from '../stats/index.js';
import type { EvictionStats } from './ports.js';

export interface ObservedStats {
  measured(): Promise<Pick<MeasuredNode, 'summary' | 'memoryLimits'>>;
  fileSystems(): Promise<NodeFileSystems>;
  /** Memory that is set aside as huge pages. */
  hugePagesBytes(): Promise<number>;
  /** Whether the runtime can be relied on to name the file system of containers. */
  readonly tellsContainersApart: boolean;
}

export function evictionStats(stats: ObservedStats): EvictionStats {
  return {
    async observe() {
      const [{ summary, memoryLimits }, hugePagesBytes] = await Promise.all([
        stats.measured(),
        stats.hugePagesBytes(),
      ]);
      const figures = {
        node: summary.node,
        memoryLimitBytes: memoryLimits.nodeBytes,
        podsMemoryLimitBytes: memoryLimits.podsBytes,
        hugePagesBytes,
      };
      return { figures, pods: summary.pods };
    },
    async fileSystems() {
      const { containerDevice, ...found } = await stats.fileSystems();
      return { ...found, containerDevice: stats.tellsContainersApart ? containerDevice : undefined };
    },
  };
}
