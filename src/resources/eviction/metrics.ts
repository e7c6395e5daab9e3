/** The metrics of eviction. */
import { Registry } from '../../metrics/index.js';

export type EvictionMetrics = ReturnType<typeof createEvictionMetrics>;

/** Without a registry nobody reads them. */
export function createEvictionMetrics(registry = new Registry()) {
  return {
    /** By signal, or by the limit of local storage that was passed. */
    evictions: registry.counter('kubelet_evictions', 'Pods that were evicted, by eviction signal.', [
      'eviction_signal',
    ]),
    statsAge: registry.histogram(
      'kubelet_eviction_stats_age_seconds',
      'Age in seconds of the statistics that a pod was evicted by, by eviction signal.',
      ['eviction_signal'],
    ),
  };
}
