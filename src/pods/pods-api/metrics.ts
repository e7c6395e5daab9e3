/** The metrics of the pods API. */
import type { Registry } from '../../metrics/index.js';

export type PodsApiMetrics = ReturnType<typeof createPodsApiMetrics>;

export function createPodsApiMetrics(registry: Registry) {
  const counter = (name: string, help: string) =>
    registry.counter(`kubelet_pod_requests_${name}`, help, ['server_api_version', 'status_code']);
  return {
    requests: counter('total', 'Calls of the pods API.'),
    lists: counter('list_total', 'Calls of ListPods of the pods API.'),
    gets: counter('get_total', 'Calls of GetPod of the pods API.'),
    watches: counter('watch_total', 'Calls of WatchPods of the pods API that have ended.'),
    droppedEvents: registry.counter(
      'kubelet_pod_watch_events_dropped_total',
      'Events of the pods API that a watcher was too slow for.',
    ),
  };
}
