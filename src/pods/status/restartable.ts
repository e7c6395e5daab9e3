/** Whether an exited container of a pod will run again, from the status's point of view. */
import type { ObservedPodStatus } from '../../cri/index.js';
import {
  type Container,
  type ContainerState,
  type ContainerStateTerminated,
  type ContainerStatus,
  isContainerRestartable,
  type Pod,
  type PodStatus,
  requestsRestartOfAll,
} from '../../kube/index.js';
import { hasTrueCondition } from './condition-list.js';

/** The reason of containers stopped only because the whole pod restarts. */
export const restartingAllReason = 'RestartingAllContainers';

/** Whether a container that ended like this restarts while its pod runs. */
export function isRestartable(pod: Pod, container: Container, ended: ContainerStateTerminated): boolean {
  return ended.reason === restartingAllReason || isContainerRestartable(pod, container, ended.exitCode);
}

/**
 * Whether all containers of the pod are being restarted: the old condition says so, or a container that the
 * runtime reports as exited requests it. A container that the runtime no longer reports never does, or a
 * finished restart would begin again.
 */
export function isRestartingAll(pod: Pod, observed: ObservedPodStatus, old: PodStatus): boolean {
  if (hasTrueCondition(old.conditions, 'AllContainersRestarting')) return true;
  return (
    someRequests(pod.spec.containers, old.containerStatuses, observed) ||
    someRequests(pod.spec.initContainers, old.initContainerStatuses, observed)
  );
}

function someRequests(
  containers: readonly Container[] | undefined,
  oldStatuses: readonly ContainerStatus[] | undefined,
  observed: ObservedPodStatus,
): boolean {
  for (const container of containers ?? []) {
    const newest = observed.containers.find(({ name }) => name === container.name);
    if (newest?.state !== 'exited') continue;
    if (requestsRestartOfAll(container, newest.exitCode)) return true;
    const old = oldStatuses?.find(({ name }) => name === container.name);
    const exitCode = old?.state?.terminated?.exitCode;
    if (exitCode !== undefined && requestsRestartOfAll(container, exitCode)) return true;
  }
  return false;
}

/** Which member a state has; a state with none counts as unset. */
export function stateKind(state: ContainerState | undefined): 'waiting' | 'running' | 'terminated' | 'unset' {
  if (state?.running) return 'running';
  if (state?.terminated) return 'terminated';
  return state?.waiting ? 'waiting' : 'unset';
}
