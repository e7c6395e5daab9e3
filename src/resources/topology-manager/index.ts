/** Agrees with those who give out CPUs, memory and devices on NUMA nodes for each pod or container. */
export * from './hint-provider.js';
export {
  type AlignmentMetrics,
  createAlignmentMetrics,
  createPodLevelMetrics,
  createTopologyManagerMetrics,
  type PodLevelMetrics,
} from './metrics.js';
export { allNodes, maskOf, maskSize, masksBySize, mostNumaNodes, positionsIn } from './numa-mask.js';
export { type AligningPolicy, type AligningPolicyName, createAligningPolicy } from './policy.js';
export { TopologyConfigError } from './policy-options.js';
export { TopologyManager, type TopologyRefusal } from './topology-manager.js';
