/** Guards against statuses in which a container that ended for good runs again. */
import {
  type Container,
  type ContainerStatus,
  couldRestartAllContainers,
  isSidecar,
  type Pod,
  type PodStatus,
} from '../../kube/index.js';
import { isRestartable } from './restartable.js';

/** What is wrong with this transition; undefined when it is legal. */
export function illegalTransition(pod: Pod, old: PodStatus, next: PodStatus): string | undefined {
  const { restartPolicy, containers, initContainers = [] } = pod.spec;
  // Where everything restarts, every container may leave its terminated state.
  if (restartPolicy !== 'OnFailure' && restartPolicy !== 'Never') return undefined;
  if (couldRestartAllContainers(pod)) return undefined;

  for (const oldStatus of old.containerStatuses ?? []) {
    const container = containers.find(({ name }) => name === oldStatus.name);
    const problem = revival(pod, container, oldStatus, next.containerStatuses);
    if (problem !== undefined) return problem;
  }
  for (const [index, oldStatus] of (old.initContainerStatuses ?? []).entries()) {
    const container = initContainers[index];
    if (container?.name !== oldStatus.name) {
      return `init container status ${index} is about "${oldStatus.name}", but the pod has ${
        container === undefined ? 'no init container there' : `"${container.name}" there`
      }`;
    }
    if (isSidecar(container)) continue;
    const problem = revival(pod, container, oldStatus, next.initContainerStatuses);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function revival(
  pod: Pod,
  container: Container | undefined,
  old: ContainerStatus,
  next: readonly ContainerStatus[] | undefined,
): string | undefined {
  const ended = old.state?.terminated;
  if (ended === undefined) return undefined;
  if (ended.exitCode !== 0 && pod.spec.restartPolicy === 'OnFailure') return undefined;
  if (container !== undefined && isRestartable(pod, container, ended)) return undefined;
  const status = next?.find(({ name }) => name === old.name);
  if (status === undefined || status.state?.terminated !== undefined) return undefined;
  return `terminated container ${old.name} attempted illegal transition to non-terminated state`;
}
