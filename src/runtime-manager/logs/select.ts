/** Chooses the container instance that a log request means, or says why there is none. */
import type { ContainerStatus, PodStatus } from '../../kube/index.js';

export type LogSelection =
  /** The id as in the status: `<runtime>://<id>`. */
  | { readonly found: true; readonly containerId: string; readonly because: string }
  | { readonly found: false; readonly message: string };

export interface LogSelectionInput {
  readonly podName: string;
  readonly status: PodStatus;
  readonly containerName: string;
  /** Selects the instance before the current one. */
  readonly previous: boolean;
}

export function selectLogContainer({
  podName,
  status,
  containerName,
  previous,
}: LogSelectionInput): LogSelection {
  const subject = `container ${JSON.stringify(containerName)} in pod ${JSON.stringify(podName)}`;
  const found = (containerId: string, because: string): LogSelection => ({
    found: true,
    containerId,
    because,
  });
  const missing = (message: string): LogSelection => ({ found: false, message });

  const container = findStatus(status, containerName);
  if (container === undefined) return missing(`${subject} is not available`);
  const lastTerminated = container.lastState?.terminated;
  const lastId = lastTerminated?.containerID ?? '';
  const { running, terminated, waiting } = container.state ?? {};
  if (previous) {
    if (lastId === '') return missing(`previous terminated ${subject} not found`);
    return found(lastId, 'the previous instance was requested');
  }
  if (running !== undefined) return found(container.containerID ?? '', 'the container is running');
  if (terminated !== undefined) {
    const ownId = terminated.containerID ?? '';
    if (ownId !== '') return found(ownId, 'the container has terminated');
    if (lastId !== '') return found(lastId, 'the current instance never started');
    return missing(`${subject} is terminated`);
  }
  if (lastTerminated !== undefined) {
    if (lastId === '') return missing(`${subject} is terminated`);
    return found(lastId, 'the container is waiting to restart');
  }
  if (waiting !== undefined) return missing(`${subject} is waiting to start: ${waitingFor(waiting.reason)}`);
  return missing(`${subject} is waiting to start - no logs yet`);
}

function findStatus(status: PodStatus, name: string): ContainerStatus | undefined {
  const { containerStatuses = [], initContainerStatuses = [], ephemeralContainerStatuses = [] } = status;
  return [...containerStatuses, ...initContainerStatuses, ...ephemeralContainerStatuses].find(
    (container) => container.name === name,
  );
}

function waitingFor(reason: string | undefined): string {
  switch (reason) {
    case 'ErrImagePull':
      return "image can't be pulled";
    case 'ImagePullBackOff':
      return 'trying and failing to pull image';
    default:
      return reason ?? '';
  }
}
