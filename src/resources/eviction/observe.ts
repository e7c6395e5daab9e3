/** Gives eviction its look at the node from the statistics. */
import type { MeasuredNode, NodeFileSystems, NodeLook } from '../stats/index.js';
import type { EvictionStats } from './ports.js';

export interface ObservedStats {
  /** Both begin after the call, so that what was done before it shows. */
  measuredNode(): Promise<NodeLook>;
  measured(): Promise<Pick<MeasuredNode, 'summary'>>;
  fileSystems(): Promise<NodeFileSystems>;
  /** Memory that is set aside as huge pages. */
  hugePagesBytes(): Promise<number>;
  /** Whether the runtime can be relied on to name the file system of containers. */
  readonly tellsContainersApart: boolean;
}

export function evictionStats(stats: ObservedStats): EvictionStats {
  return {
    async observe() {
      const [{ node, memoryLimits }, hugePagesBytes] = await Promise.all([
        stats.measuredNode(),
        stats.hugePagesBytes(),
      ]);
      const figures = {
        node,
        memoryLimitBytes: memoryLimits.nodeBytes,
        podsMemoryLimitBytes: memoryLimits.podsBytes,
        hugePagesBytes,
      };
      return { figures, pods: async () => (await stats.measured()).summary.pods };
    },
    async fileSystems() {
      const { containerDevice, ...found } = await stats.fileSystems();
      return { ...found, containerDevice: stats.tellsContainersApart ? containerDevice : undefined };
    },
  };
}
