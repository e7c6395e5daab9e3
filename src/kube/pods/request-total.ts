/** What a pod counts for where pods are compared by their requests: eviction ranks by it, preemption makes room by it. */
import { aggregateContainers, countedAmount, isPodLevelResource } from '../manifests/pod-resources.js';
import type { PodManifest } from '../types/pod.js';
import {
  addQuantities,
  type Quantity,
  quantityMilliValue,
  quantityValue,
  zeroQuantity,
} from '../values/quantity.js';

/** Millicores of `cpu`, one for `pods`, whole units of anything else. Overhead counts only beside a request. */
export function podRequestTotal(pod: PodManifest, resource: string): number {
  if (resource === 'pods') return 1;
  const requested = requestOf(pod, resource);
  const overhead = pod.spec.overhead?.[resource];
  const total =
    requested.nanos === 0n || overhead === undefined
      ? requested
      : addQuantities(requested, countedAmount(overhead));
  return Number(resource === 'cpu' ? quantityMilliValue(total) : quantityValue(total));
}

/** Where the pod itself has resources, those of its containers do not count. */
function requestOf({ spec }: PodManifest, resource: string): Quantity {
  if (isPodLevelResource(resource) && hasPodLevelResources(spec.resources)) {
    return countedAmount(spec.resources?.requests?.[resource] ?? '0');
  }
  return aggregateContainers(spec, 'requests').get(resource) ?? zeroQuantity;
}

/** Whether the pod itself asks for something that a pod can have of its own. */
export function hasPodLevelResources(resources: PodManifest['spec']['resources']): boolean {
  const names = [...Object.keys(resources?.requests ?? {}), ...Object.keys(resources?.limits ?? {})];
  return names.some(isPodLevelResource);
}
