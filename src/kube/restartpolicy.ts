/** Whether a container that exited is to be started again, as its own policy, its rules and the pod's policy say. */
import type { Container, ContainerRestartRule } from './container.js';
import type { Pod } from './pod.js';

const restartActions: ReadonlySet<string> = new Set(['Restart', 'RestartAllContainers']);

/**
 * The container's own policy and rules count when the policy is set, the pod's policy otherwise.
 * A policy that is absent or unknown counts as Always.
 */
export function restartable(
  containerPolicy: string | undefined,
  rules: readonly ContainerRestartRule[] | undefined,
  podPolicy: string | undefined,
  exitCode: number,
): boolean {
  if (!isSet(containerPolicy)) return policyRestarts(podPolicy, exitCode);
  const rule = matchingRestartRule(rules, exitCode);
  if (rule !== undefined && restartActions.has(rule.action)) return true;
  return policyRestarts(containerPolicy, exitCode);
}

/** `restartable` for a container of a pod. */
export function isContainerRestartable(
  pod: Pick<Pod, 'spec'>,
  container: Container,
  exitCode: number,
): boolean {
  return restartable(container.restartPolicy, container.restartPolicyRules, pod.spec.restartPolicy, exitCode);
}

/** The first rule whose exit codes match. */
export function matchingRestartRule(
  rules: readonly ContainerRestartRule[] | undefined,
  exitCode: number,
): ContainerRestartRule | undefined {
  return rules?.find((rule) => {
    const isListed = rule.exitCodes?.values?.includes(exitCode) ?? false;
    switch (rule.exitCodes?.operator) {
      case 'In':
        return isListed;
      case 'NotIn':
        return !isListed;
      default:
        return false;
    }
  });
}

/** Whether this exit of the container asks that every container of the pod be restarted. */
export function requestsRestartOfAll(container: Container, exitCode: number): boolean {
  if (!isSet(container.restartPolicy)) return false;
  return matchingRestartRule(container.restartPolicyRules, exitCode)?.action === 'RestartAllContainers';
}

/** Whether some init or regular container has a rule that could restart every container of the pod. */
export function couldRestartAllContainers(pod: Pick<Pod, 'spec'>): boolean {
  return [...(pod.spec.initContainers ?? []), ...pod.spec.containers].some((container) =>
    container.restartPolicyRules?.some((rule) => rule.action === 'RestartAllContainers'),
  );
}

function policyRestarts(policy: string | undefined, exitCode: number): boolean {
  switch (policy) {
    case 'Never':
      return false;
    case 'OnFailure':
      return exitCode !== 0;
    default:
      return true;
  }
}

function isSet(policy: string | undefined): policy is string {
  return policy !== undefined && policy !== '';
}
