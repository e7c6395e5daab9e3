/** Questions of a status about a pod's sandboxes: what keeps containers from starting, are regular containers in it. */
import { type ObservedPodStatus, sandboxVerdict } from '../../cri/index.js';
import type { Pod } from '../../kube/index.js';

/**
 * What is wrong with the pod's sandbox, as the condition PodReadyToStartContainers tells it; undefined when the pod has
 * exactly one that is ready, with the network it needs.
 */
export function sandboxProblem(pod: Pod, { sandboxes }: ObservedPodStatus): string | undefined {
  const verdict = sandboxVerdict(pod, sandboxes);
  if (!verdict.changed) return undefined;
  switch (verdict.cause.reason) {
    case 'NoSandbox':
      return 'no pod sandbox exists';
    case 'SeveralSandboxesReady':
      return 'multiple pod sandboxes are ready and need to be reconciled';
    case 'SandboxNotReady':
      return 'pod sandbox is not ready';
    case 'SandboxOnHostNetwork':
    case 'SandboxOffHostNetwork':
      return 'network namespace mode changed and sandbox needs to be recreated';
    case 'SandboxWithoutIP':
      return 'pod sandbox has no IP address';
  }
}

/** Whether a regular container was created in the pod's current sandbox. */
export function hasActiveRegularContainer(pod: Pod, observed: ObservedPodStatus): boolean {
  const names = new Set(pod.spec.containers.map(({ name }) => name));
  return observed.activeContainers.some(({ name }) => names.has(name));
}
