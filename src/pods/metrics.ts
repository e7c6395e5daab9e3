/** The metrics of pods: their workers, their containers' ends, and the way of their statuses to the API. */
import type { Pod } from '../kube/index.js';
import { Registry } from '../metrics/index.js';

export type PodMetrics = ReturnType<typeof createPodMetrics>;

/** Without a registry nobody reads them. */
export function createPodMetrics(registry = new Registry()) {
  return {
    workDuration: registry.histogram(
      'kubelet_pod_worker_duration_seconds',
      'Duration in seconds to sync a single pod. Broken down by operation type: create, update, sync, kill or terminated.',
      ['operation_type'],
    ),
    containersPerPod: registry.histogram(
      'kubelet_containers_per_pod_count',
      'Containers of each pod that was admitted.',
      [],
      [1, 2, 4, 8, 16],
    ),
    terminatedContainers: registry.counter(
      'kubelet_terminated_containers_total',
      'Container runs that ended.',
      ['container_type', 'exit_code', 'reason'],
    ),
  };
}

/** Counts the ephemeral containers of the desired pods at each scrape. */
export function registerEphemeralContainers(registry: Registry, pods: () => readonly Pod[]): void {
  const containers = registry.gauge(
    'kubelet_managed_ephemeral_containers',
    'Ephemeral containers of the pods of this node.',
  );
  registry.onCollect(() => {
    let count = 0;
    for (const { spec } of pods()) count += spec.ephemeralContainers?.length ?? 0;
    containers.set(count);
  });
}

/** The buckets of every metric of how long a pod takes to start. */
export const podStartBuckets: readonly number[] = [
  0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700,
  3600,
];

export type ApiPodMetrics = ReturnType<typeof createApiPodMetrics>;

/** Of a node whose pods come from the API. Without a registry nobody reads them. */
export function createApiPodMetrics(registry = new Registry()) {
  return {
    startTotal: registry.histogram(
      'kubelet_pod_start_total_duration_seconds',
      'Seconds from the creation of a pod until the API showed it running, pulls and init containers included.',
      [],
      podStartBuckets,
    ),
    startSli: registry.histogram(
      'kubelet_pod_start_sli_duration_seconds',
      'Seconds from the creation of a pod until the API showed it running, without pulls and init containers.',
      [],
      podStartBuckets,
    ),
    firstNetworkPodStartSli: registry.gauge(
      'kubelet_first_network_pod_start_sli_duration_seconds',
      '[INTERNAL] Seconds that the first pod with a network of its own took to start, without pulls and init containers.',
    ),
    statusSyncDuration: registry.histogram(
      'kubelet_pod_status_sync_duration_seconds',
      "Seconds from the first change of a pod's status until it was written to the API.",
      [],
      [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 20, 30, 45, 60],
    ),
  };
}
