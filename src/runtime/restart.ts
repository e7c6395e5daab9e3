/** Decides whether a dead container is started again, from its pod's policy, its own policy and its own rules. */
import type { ObservedContainerStatus } from '../cri/index.js';
import type { ContainerRestartRule, Pod } from '../kube/index.js';
import type { AnyContainer } from './contracts.js';

export type RestartPolicy = 'Always' | 'OnFailure' | 'Never';

export interface RestartVerdict {
  readonly restart: boolean;
  readonly because: string;
}

/** The policy of the pod; a pod that says nothing is always restarted. */
export function podRestartPolicy(pod: Pod): RestartPolicy {
  return toPolicy(pod.spec.restartPolicy);
}

/** The container's own policy where it has one, else that of the pod. */
export function effectiveRestartPolicy(pod: Pod, container: AnyContainer): RestartPolicy {
  return hasOwnPolicy(container) ? toPolicy(container.restartPolicy) : podRestartPolicy(pod);
}

/** The first rule of the container that speaks about the exit code; rules only count beside an own policy. */
export function matchingRestartRule(
  container: AnyContainer,
  exitCode: number,
): ContainerRestartRule | undefined {
  if (!hasOwnPolicy(container)) return undefined;
  return container.restartPolicyRules?.find(({ exitCodes }) => {
    if (exitCodes === undefined) return false;
    const listed = exitCodes.values?.includes(exitCode) === true;
    return exitCodes.operator === 'In' ? listed : exitCodes.operator === 'NotIn' && !listed;
  });
}

/** Whether the way this instance ended asks for all containers of the pod to start over. */
export function triggersRestartAll(
  container: AnyContainer,
  status: Pick<ObservedContainerStatus, 'state' | 'exitCode'>,
): boolean {
  if (status.state !== 'exited') return false;
  return matchingRestartRule(container, status.exitCode)?.action === 'RestartAllContainers';
}

/** Whether a container that does not run is to be started. */
export function restartDecision(
  pod: Pod,
  container: AnyContainer,
  newest: Pick<ObservedContainerStatus, 'state' | 'exitCode'> | undefined,
): RestartVerdict {
  if (pod.metadata.deletionTimestamp !== undefined) {
    return { restart: false, because: 'the pod is being deleted' };
  }
  if (newest === undefined) return { restart: true, because: 'it has not run yet' };
  if (newest.state === 'created') return { restart: true, because: 'it was created but never started' };
  if (newest.state !== 'exited') return { restart: true, because: `its state is ${newest.state}` };

  const { exitCode } = newest;
  const rule = matchingRestartRule(container, exitCode);
  if (rule?.action === 'Restart' || rule?.action === 'RestartAllContainers') {
    return { restart: true, because: `exited ${exitCode}, rule ${rule.action}` };
  }
  const policy = effectiveRestartPolicy(pod, container);
  const owner = hasOwnPolicy(container) ? 'container policy' : 'policy';
  return { restart: policyRestarts(policy, exitCode), because: `exited ${exitCode}, ${owner} ${policy}` };
}

function policyRestarts(policy: RestartPolicy, exitCode: number): boolean {
  switch (policy) {
    case 'Always':
      return true;
    case 'OnFailure':
      return exitCode !== 0;
    case 'Never':
      return false;
  }
}

function hasOwnPolicy(container: AnyContainer): boolean {
  return container.restartPolicy !== undefined && container.restartPolicy !== '';
}

function toPolicy(text: string | undefined): RestartPolicy {
  return text === 'Never' || text === 'OnFailure' ? text : 'Always';
}
