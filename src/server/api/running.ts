/** Finds the pods, containers and sandboxes that requests name. */
import type { ObservedContainer, ObservedPod, ObservedSandbox } from '../../cri/index.js';
import type { Pod } from '../../kube/index.js';

export function findPod(pods: readonly Pod[], namespace: string, name: string): Pod | undefined {
  return pods.find(({ metadata }) => metadata.name === name && metadata.namespace === namespace);
}

export function findObservedPod(
  running: readonly ObservedPod[],
  namespace: string,
  name: string,
): ObservedPod | undefined {
  return running.find((pod) => pod.name === name && pod.namespace === namespace);
}

export function runningContainer(pod: ObservedPod | undefined, name: string): ObservedContainer | undefined {
  return pod?.containers.find((container) => container.name === name && container.state === 'running');
}

/** The newest one, which has the pod's current network. */
export function runningSandbox(pod: ObservedPod | undefined): ObservedSandbox | undefined {
  return pod?.sandboxes.find(({ state }) => state === 'running');
}
