/** The metrics of the memory manager. */
import { Registry } from '../../metrics/index.js';

export type MemoryManagerMetrics = ReturnType<typeof createMemoryManagerMetrics>;

/** Without a registry nobody reads them. */
export function createMemoryManagerMetrics(registry = new Registry()) {
  return {
    pinningRequests: registry.counter(
      'kubelet_memory_manager_pinning_requests_total',
      'Containers that were to get memory of certain NUMA nodes.',
    ),
    pinningErrors: registry.counter(
      'kubelet_memory_manager_pinning_errors_total',
      'Containers that could not get memory of certain NUMA nodes.',
    ),
  };
}
