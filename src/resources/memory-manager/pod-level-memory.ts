/** Divides the memory of a pod with resources of its own among its containers. */
import { isSidecar, type Pod } from '../../kube/index.js';
import type { MemoryBlock } from './machine-memory.js';
import { containerMemory, isExclusive, podLevelMemory } from './requested-memory.js';

export type PodMemoryPlan =
  | {
      readonly kind: 'planned';
      /** By container; all lie on the nodes of the pod. */
      readonly containers: ReadonlyMap<string, ReadonlyMap<string, number>>;
    }
  | { readonly kind: 'refused'; readonly message: string };

/**
 * Exclusive containers get what they ask for, all others share what is left. An ordinary init container that is not
 * exclusive gets everything but the memory of the sidecars before it.
 */
export function planPodMemory(pod: Pod): PodMemoryPlan {
  const containers = new Map<string, Map<string, number>>();
  const give = (name: string, type: string, bytes: number): void => {
    const given = containers.get(name) ?? new Map<string, number>();
    if (bytes > 0) given.set(type, bytes);
    containers.set(name, given);
  };
  for (const [type, total] of podLevelMemory(pod)) {
    const exclusiveBytes = (container: Pod['spec']['containers'][number]): number =>
      isExclusive(container) ? (containerMemory(pod, container).get(type) ?? 0) : 0;
    let left = total;
    const shared: string[] = [];
    for (const container of pod.spec.initContainers ?? []) {
      if (isExclusive(container)) {
        give(container.name, type, exclusiveBytes(container));
        if (isSidecar(container)) left -= exclusiveBytes(container);
      } else if (isSidecar(container)) {
        shared.push(container.name);
      } else if (left > 0) {
        give(container.name, type, left);
      } else {
        const message = `pod rejected, pod has shared init containers but no ${type} available for them`;
        return { kind: 'refused', message };
      }
    }
    for (const container of pod.spec.containers) {
      left -= exclusiveBytes(container);
      if (isExclusive(container)) give(container.name, type, exclusiveBytes(container));
      else shared.push(container.name);
    }
    if (shared.length > 0 && left <= 0) {
      const message = `pod rejected, sum of exclusive container ${type} requests equals pod budget, leaving no ${type} for shared containers`;
      return { kind: 'refused', message };
    }
    for (const name of shared) give(name, type, left);
  }
  return { kind: 'planned', containers };
}

export function plannedBlocks(
  containers: ReadonlyMap<string, ReadonlyMap<string, number>>,
  ids: readonly number[],
): ReadonlyMap<string, readonly MemoryBlock[]> {
  return new Map(
    [...containers].map(([name, bytes]) => [
      name,
      [...bytes].map(([type, size]) => ({ numaAffinity: ids, type, size })),
    ]),
  );
}
