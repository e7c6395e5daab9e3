/** A pod's QoS class, which decides its cgroup, its OOM score and its eviction rank. */
import type { ResourceRequirements } from '../types/container.js';
import type { ResourceList } from '../types/meta.js';
import type { PodManifest } from '../types/pod.js';
import type { PodQOSClass } from '../types/pod-status.js';
import { parseQuantity } from '../values/quantity.js';

const qosResources = ['cpu', 'memory'] as const;
type QosTotals = Map<string, bigint>;

/** The class the API recorded, or else the computed one. */
export function qosClass(pod: PodManifest): PodQOSClass {
  return pod.status?.qosClass ?? computeQosClass(pod);
}

/** The class that follows from the resources, whatever the API recorded. */
export function computeQosClass(pod: PodManifest): PodQOSClass {
  const requests: QosTotals = new Map();
  const limits: QosTotals = new Map();
  let isEverythingLimited = true;
  for (const resources of consideredResources(pod)) {
    addPositive(requests, resources?.requests);
    const limited = addPositive(limits, resources?.limits);
    if (limited < qosResources.length) isEverythingLimited = false;
  }
  if (requests.size === 0 && limits.size === 0) return 'BestEffort';
  if (!isEverythingLimited || requests.size !== limits.size) return 'Burstable';
  for (const [name, request] of requests) {
    if (limits.get(name) !== request) return 'Burstable';
  }
  return 'Guaranteed';
}

/** Pod-level resources stand for the whole pod when they are given. */
function consideredResources(pod: PodManifest): (ResourceRequirements | undefined)[] {
  const { spec } = pod;
  if (spec.resources !== undefined) return [spec.resources];
  return [...spec.containers, ...(spec.initContainers ?? [])].map((container) => container.resources);
}

function addPositive(totals: QosTotals, list: ResourceList | undefined): number {
  let found = 0;
  for (const name of qosResources) {
    const text = list?.[name];
    if (text === undefined) continue;
    const { nanos } = parseQuantity(text);
    if (nanos <= 0n) continue;
    totals.set(name, (totals.get(name) ?? 0n) + nanos);
    found += 1;
  }
  return found;
}
