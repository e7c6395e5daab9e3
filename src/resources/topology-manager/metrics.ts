/** The metrics of the topology manager. */
import { Registry } from '../../metrics/index.js';

export type TopologyManagerMetrics = ReturnType<typeof createTopologyManagerMetrics>;

/** 0.05 ms, doubled 14 times. */
const admissionBucketsMs = Array.from({ length: 15 }, (_, power) => 0.05 * 2 ** power);

/** Without a registry nobody reads them. */
export function createTopologyManagerMetrics(registry = new Registry()) {
  return {
    requests: registry.counter(
      'kubelet_topology_manager_admission_requests_total',
      'Pods and resizes that the topology manager was asked to admit.',
    ),
    errors: registry.counter(
      'kubelet_topology_manager_admission_errors_total',
      'Pods and resizes that the topology manager refused.',
    ),
    durationMs: registry.histogram(
      'kubelet_topology_manager_admission_duration_ms',
      'Duration in milliseconds of admissions by the topology manager.',
      [],
      admissionBucketsMs,
    ),
  };
}

export type AlignmentMetrics = ReturnType<typeof createAlignmentMetrics>;

/** How often containers and pods got resources that lie together. Without a registry nobody reads them. */
export function createAlignmentMetrics(registry = new Registry()) {
  const labels = ['scope', 'boundary'] as const;
  return {
    aligned: registry.counter(
      'kubelet_container_aligned_compute_resources_count',
      'Containers and pods that got resources within the boundary.',
      labels,
    ),
    failed: registry.counter(
      'kubelet_container_aligned_compute_resources_failure_count',
      'Containers and pods that could not get resources within the boundary.',
      labels,
    ),
  };
}

export type PodLevelMetrics = ReturnType<typeof createPodLevelMetrics>;

/** Only where pods get resources as a whole: the gate PodLevelResourceManagers. Without a registry nobody reads them. */
export function createPodLevelMetrics(registry = new Registry()) {
  return {
    allocations: registry.counter(
      'kubelet_resource_manager_allocations_total',
      'Exclusive resources that were given out, by what they were taken from: the node or the pod.',
      ['resource_name', 'source'],
    ),
    errors: registry.counter(
      'kubelet_resource_manager_allocation_errors_total',
      'Exclusive resources that could not be given out, by what they were to be taken from.',
      ['resource_name', 'source'],
    ),
    assignments: registry.counter(
      'kubelet_resource_manager_container_assignments_total',
      'Containers that were given resources, by how they hold them.',
      ['resource_name', 'assignment_type'],
    ),
  };
}
