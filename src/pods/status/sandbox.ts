/** Questions of a status about a pod's sandboxes: can containers start, are regular containers in it. */
import { type ObservedPodStatus, sandboxVerdict } from '../../cri/index.js';
import type { Pod } from '../../kube/index.js';

/** Whether the pod has exactly one ready sandbox, with the network it needs, so that no new one is needed. */
export function isSandboxUsable(pod: Pod, { sandboxes }: ObservedPodStatus): boolean {
  return !sandboxVerdict(pod, sandboxes).changed;
}

/** Whether a regular container was created in the pod's current sandbox. */
export function hasActiveRegularContainer(pod: Pod, observed: ObservedPodStatus): boolean {
  const names = new Set(pod.spec.containers.map(({ name }) => name));
  return observed.activeContainers.some(({ name }) => names.has(name));
}
