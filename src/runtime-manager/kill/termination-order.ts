/** Decides the termination order: sidecars outlive the containers they serve. */
import { isSidecar, type Pod } from '../../kube/index.js';

/**
 * For each running sidecar, the running containers that must have ended before it is stopped: all regular
 * ones and the next later sidecar. Containers without an entry wait for nothing.
 */
export function terminationOrder(
  pod: Pod,
  runningNames: ReadonlySet<string>,
): ReadonlyMap<string, readonly string[]> {
  const order = new Map<string, readonly string[]>();
  const sidecars = (pod.spec.initContainers ?? []).filter(isSidecar).map(({ name }) => name);
  const regular = pod.spec.containers.map(({ name }) => name);
  for (const [index, name] of sidecars.entries()) {
    if (!runningNames.has(name)) continue;
    const later = sidecars.slice(index + 1, index + 2);
    const waitsFor = [...regular, ...later].filter((other) => runningNames.has(other));
    if (waitsFor.length > 0) order.set(name, waitsFor);
  }
  return order;
}
