/** Whether a container of a pod will run again after it ended, as the status sees it. */
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

/** The reason of containers that are stopped only because the whole pod starts over. */
export const restartingAllReason = 'RestartingAllContainers';

/** Whether a container that ended like this is started again while its pod goes on. */
export function isRestartable(pod: Pod, container: Container, ended: ContainerStateTerminated): boolean {
  return ended.reason === restartingAllReason || isContainerRestartable(pod, container, ended.exitCode);
}

/**
 * Whether every container of the pod is being restarted: the old condition says so, or a container
 * that the runtime shows as exited asks for it. What the runtime no longer shows never asks, or a
 * restart that is over would begin anew.
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

/** Which of its members a state has; a state with none counts as unset. */
export function stateKind(state: ContainerState | undefined): 'waiting' | 'running' | 'terminated' | 'unset' {
  if (state?.running) return 'running';
  if (state?.terminated) return 'terminated';
  return state?.waiting ? 'waiting' : 'unset';
}
