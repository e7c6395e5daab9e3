/** The metrics of the pod resources API. */
import type { Registry } from '../../metrics/index.js';

export type PodResourcesMetrics = ReturnType<typeof createPodResourcesMetrics>;

export function createPodResourcesMetrics(registry: Registry) {
  const counter = (name: string, help: string) =>
    registry.counter(`kubelet_pod_resources_endpoint_${name}`, help, ['server_api_version']);
  return {
    requests: counter('requests_total', 'Calls of the pod resources API.'),
    lists: counter('requests_list', 'Calls of List of the pod resources API.'),
    gets: counter('requests_get', 'Calls of Get of the pod resources API.'),
    allocatable: counter('requests_get_allocatable', 'Calls of GetAllocatableResources of the API.'),
    listErrors: counter('errors_list', 'Calls of List of the pod resources API that failed.'),
    getErrors: counter('errors_get', 'Calls of Get of the pod resources API that failed.'),
    allocatableErrors: counter('errors_get_allocatable', 'Calls of GetAllocatableResources that failed.'),
  };
}
