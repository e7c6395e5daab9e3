/** Decides the order in which the containers of a pod are removed when all of them restart. */
import type { ObservedPodStatus } from '../../cri/index.js';
import { type Container, type Pod, requestsRestartOfAll } from '../../kube/index.js';
import { becauseOf, type PlannedReset } from './pod-plan.js';

/**
 * Every instance of every regular and init container. Instances whose exit requested the restart come last: while one of
 * them is left, an interrupted reset continues.
 */
export function planReset(pod: Pod, status: ObservedPodStatus): PlannedReset[] {
  const others: PlannedReset[] = [];
  const sources: PlannedReset[] = [];
  for (const container of [...pod.spec.containers, ...(pod.spec.initContainers ?? [])]) {
    for (const { isSource, reset } of instancesOf(container, status)) {
      (isSource ? sources : others).push(reset);
    }
  }
  return [...others, ...sources];
}

function instancesOf(
  container: Container,
  status: ObservedPodStatus,
): { readonly isSource: boolean; readonly reset: PlannedReset }[] {
  return status.containers
    .filter(({ name }) => name === container.name)
    .map((instance) => {
      const isSource = instance.state === 'exited' && requestsRestartOfAll(container, instance.exitCode);
      return {
        isSource,
        reset: {
          id: instance.id,
          name: container.name,
          kill: instance.state !== 'exited',
          ...becauseOf(
            isSource
              ? { reason: 'ExitedWithRule', exitCode: instance.exitCode, rule: 'RestartAllContainers' }
              : { reason: 'AllContainersRestart' },
          ),
        },
      };
    });
}
