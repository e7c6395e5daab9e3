/** The last status of a pod whose containers are all gone: nothing may look as if it were still running. */
import {
  type ContainerStatus,
  isSidecar,
  isStaticPod,
  isTerminalPhase,
  type Pod,
  type PodStatus,
} from '../../kube/index.js';
import { lostAtTerminationMessage, statusUnknownReason, unseenEnd } from './container-fields.js';

/** `status` is the cached one, else the API's. */
export function terminatedStatus(pod: Pod, status: PodStatus): PodStatus {
  const { containerStatuses, initContainerStatuses, phase } = status;
  // A static pod may have no API status at all; then its last known one must do.
  const apiStatus = hasStatuses(pod.status) ? pod.status : status;
  return {
    ...status,
    ...(containerStatuses !== undefined && wasInitialized(pod, apiStatus)
      ? { containerStatuses: containerStatuses.map(ended) }
      : {}),
    ...(initContainerStatuses === undefined
      ? {}
      : { initContainerStatuses: withEndedInits(initContainerStatuses) }),
    ...(isStaticPod(pod) || isTerminalPhase(phase) ? {} : { phase: 'Failed' as const }),
  };
}

/** Whether the pod ever completed its init containers. */
export function wasInitialized(pod: Pod, status: PodStatus): boolean {
  const initContainers = pod.spec.initContainers ?? [];
  if (initContainers.length === 0) return true;
  if (status.containerStatuses?.some(hasLeftWaiting)) return true;
  const last = status.initContainerStatuses?.at(-1);
  if (last === undefined) return false;
  const container = initContainers[(status.initContainerStatuses?.length ?? 0) - 1];
  if (container?.name !== last.name) return false;
  if (isSidecar(container)) return last.state?.running !== undefined && last.started === true;
  return last.state?.terminated?.exitCode === 0 || last.lastState?.terminated?.exitCode === 0;
}

/** Ends the init containers up to the last one that ever ran, and always the first. */
function withEndedInits(statuses: readonly ContainerStatus[]): ContainerStatus[] {
  const lastRun = Math.max(0, statuses.findLastIndex(hasLeftWaiting));
  return statuses.map((status, index) => (index <= lastRun ? ended(status) : status));
}

function hasLeftWaiting({ state, lastState }: ContainerStatus): boolean {
  return state?.waiting === undefined || lastState?.terminated !== undefined;
}

function ended(status: ContainerStatus): ContainerStatus {
  if (status.state?.terminated !== undefined) return status;
  return { ...status, state: unseenEnd(statusUnknownReason, lostAtTerminationMessage) };
}

function hasStatuses(status: PodStatus | undefined): status is PodStatus {
  return status?.containerStatuses !== undefined || status?.initContainerStatuses !== undefined;
}
