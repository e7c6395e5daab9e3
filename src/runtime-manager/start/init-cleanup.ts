/** Removes exited init containers, so that they do not mislead the next plan. */
import type { ObservedContainerStatus, ObservedPodStatus } from '../../cri/index.js';
import type { Pod } from '../../kube/index.js';
import { podRef, type Timeline } from '../../timeline/index.js';
import type { ContainerRemover } from '../contracts.js';

export interface CleanupPorts {
  readonly remover: ContainerRemover;
  readonly timeline: Timeline;
}

/** All instances, because a new sandbox initializes from the start. */
export function allInitInstances(pod: Pod, status: ObservedPodStatus): ObservedContainerStatus[] {
  return (pod.spec.initContainers ?? []).flatMap(({ name }) =>
    status.containers.filter((container) => container.name === name),
  );
}

/** All exited instances of each init container but its newest exited one. */
export function supersededInitInstances(pod: Pod, status: ObservedPodStatus): ObservedContainerStatus[] {
  return (pod.spec.initContainers ?? []).flatMap(({ name }) =>
    status.containers
      .filter((container) => container.name === name)
      .filter(({ state }) => state === 'exited' || state === 'unknown')
      .slice(1),
  );
}

/** Records failures and goes on: a container that stays does no harm, and the next sync tries again. */
export async function removeInitInstances(
  { remover, timeline }: CleanupPorts,
  pod: Pod,
  instances: readonly ObservedContainerStatus[],
  because: string,
): Promise<void> {
  for (const { id, name } of instances) {
    try {
      await remover.remove({ id, name }, { keepLogs: false, because });
    } catch (error) {
      timeline.record({
        kind: 'problem',
        what: 'container.remove',
        message: `Could not remove an instance of init container ${name}`,
        because,
        pod: podRef(pod),
        container: name,
        level: 'warn',
        error,
        data: { containerId: id },
      });
    }
  }
}
