/** What pods and containers ask the memory manager for. */
import {
  type Container,
  hasPodLevelResources,
  isSidecar,
  type Pod,
  parseQuantity,
  qosClass,
  quantityUnits,
  type ResourceList,
} from '../../kube/index.js';

/** Bytes by type of memory, sorted by type. */
export type MemoryRequest = ReadonlyMap<string, number>;

export function isMemoryType(resource: string): boolean {
  return resource === 'memory' || resource.startsWith('hugepages-');
}

function memoryIn(list: ResourceList | undefined): MemoryRequest {
  const amounts = Object.entries(list ?? {})
    .filter(([name]) => isMemoryType(name))
    .map(([name, amount]): [string, number] => [name, quantityUnits(amount)])
    .filter(([, bytes]) => bytes > 0);
  return new Map(amounts.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Pods whose containers get memory of their own. Pods with resources of their own do so by a gate only. */
export function hasPinnedMemory(pod: Pod, pinsPodLevel: boolean): boolean {
  if (qosClass(pod) !== 'Guaranteed') return false;
  return pinsPodLevel || !hasPodLevelResources(pod.spec.resources);
}

/** In a pod with resources of its own only containers that insist on theirs are asked for. */
export function containerMemory(pod: Pod, container: Container): MemoryRequest {
  if (hasPodLevelResources(pod.spec.resources) && !isExclusive(container)) return new Map();
  return memoryIn(container.resources?.requests);
}

/** Whether a container of a pod with resources of its own insists on whole CPUs and memory for itself. */
export function isExclusive({ resources }: Container): boolean {
  for (const name of ['cpu', 'memory']) {
    const request = parseQuantity(resources?.requests?.[name] ?? '0').nanos;
    const limit = parseQuantity(resources?.limits?.[name] ?? '0').nanos;
    if (request <= 0n || request !== limit) return false;
    if (name === 'cpu' && request % 1_000_000_000n !== 0n) return false;
  }
  return true;
}

/** The memory of the pod's own resources. */
export function podLevelMemory(pod: Pod): MemoryRequest {
  return memoryIn(pod.spec.resources?.requests);
}

/**
 * What all containers of a pod need at the same time. Types that only init containers ask for do not count: the reference
 * kubelet leaves them out.
 */
export function podMemory(pod: Pod): MemoryRequest {
  const running = new Map<string, number>();
  for (const container of pod.spec.containers) addTo(running, containerMemory(pod, container));
  const types = [...running.keys()].sort();
  const sidecars = new Map<string, number>();
  const peak = new Map<string, number>();
  for (const container of pod.spec.initContainers ?? []) {
    const request = containerMemory(pod, container);
    if (isSidecar(container)) {
      addTo(sidecars, request);
      continue;
    }
    for (const [type, bytes] of request) {
      peak.set(type, Math.max(peak.get(type) ?? 0, (sidecars.get(type) ?? 0) + bytes));
    }
  }
  addTo(running, sidecars);
  return new Map(types.map((type) => [type, Math.max(running.get(type) ?? 0, peak.get(type) ?? 0)]));
}

function addTo(sums: Map<string, number>, request: MemoryRequest): void {
  for (const [type, bytes] of request) sums.set(type, (sums.get(type) ?? 0) + bytes);
}
