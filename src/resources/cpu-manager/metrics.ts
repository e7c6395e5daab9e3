/** The metrics of the CPU manager. */
import { Registry } from '../../metrics/index.js';

export type CpuManagerMetrics = ReturnType<typeof createCpuManagerMetrics>;

/** Without a registry nobody reads them. */
export function createCpuManagerMetrics(registry = new Registry()) {
  return {
    pinningRequests: registry.counter(
      'kubelet_cpu_manager_pinning_requests_total',
      'Containers that asked for exclusive CPUs.',
    ),
    pinningErrors: registry.counter(
      'kubelet_cpu_manager_pinning_errors_total',
      'Containers that asked for exclusive CPUs and did not get them.',
    ),
    sharedPoolMillis: registry.gauge(
      'kubelet_cpu_manager_shared_pool_size_millicores',
      'CPUs of the shared pool that are not reserved, in millicores.',
    ),
    exclusiveCount: registry.gauge(
      'kubelet_cpu_manager_exclusive_cpu_allocation_count',
      'CPUs that containers or pods have for themselves.',
    ),
    perNuma: registry.gauge(
      'kubelet_cpu_manager_allocation_per_numa',
      'CPUs that containers or pods have for themselves, by NUMA node.',
      ['numa_node'],
    ),
  };
}
