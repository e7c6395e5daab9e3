/** Decides whether an exited container restarts, by its own policy, its rules and the pod's policy. */
import type { Container, ContainerRestartRule } from '../types/container.js';
import type { Pod, PodManifest } from '../types/pod.js';

export type RestartPolicy = 'Always' | 'OnFailure' | 'Never';
type RestartedContainer = Pick<Container, 'restartPolicy' | 'restartPolicyRules'>;

/** The pod's policy; absent or unknown counts as Always. */
export function podRestartPolicy(pod: Pick<Pod, 'spec'>): RestartPolicy {
  return toPolicy(pod.spec.restartPolicy);
}

/** The container's own policy if it has one, else the pod's. */
export function effectiveRestartPolicy(
  pod: Pick<Pod, 'spec'>,
  container: Pick<Container, 'restartPolicy'>,
): RestartPolicy {
  return hasOwnRestartPolicy(container) ? toPolicy(container.restartPolicy) : podRestartPolicy(pod);
}

export function hasOwnRestartPolicy({ restartPolicy }: Pick<Container, 'restartPolicy'>): boolean {
  return restartPolicy !== undefined && restartPolicy !== '';
}

/** The container's first rule that matches the exit code; rules only count with a policy of its own. */
export function matchingRestartRule(
  container: RestartedContainer,
  exitCode: number,
): ContainerRestartRule | undefined {
  if (!hasOwnRestartPolicy(container)) return undefined;
  return container.restartPolicyRules?.find(({ exitCodes }) => {
    const isListed = exitCodes?.values?.includes(exitCode) ?? false;
    switch (exitCodes?.operator) {
      case 'In':
        return isListed;
      case 'NotIn':
        return !isListed;
      default:
        return false;
    }
  });
}

/** Whether a rule restarts the container after this exit, whatever its policy. */
export function restartingRule(
  container: RestartedContainer,
  exitCode: number,
): ContainerRestartRule | undefined {
  const rule = matchingRestartRule(container, exitCode);
  return rule?.action === 'Restart' || rule?.action === 'RestartAllContainers' ? rule : undefined;
}

/** Whether a container of a running pod restarts after this exit. */
export function isContainerRestartable(
  pod: Pick<Pod, 'spec'>,
  container: RestartedContainer,
  exitCode: number,
): boolean {
  if (restartingRule(container, exitCode) !== undefined) return true;
  switch (effectiveRestartPolicy(pod, container)) {
    case 'Always':
      return true;
    case 'OnFailure':
      return exitCode !== 0;
    case 'Never':
      return false;
  }
}

/** What a restart depends on in a container's newest instance. */
export interface NewestInstance {
  readonly state: 'created' | 'running' | 'exited' | 'unknown';
  readonly exitCode: number;
}

/** Whether the next sync of the pod would start the container. */
export function shouldBeRestarted(
  pod: PodManifest,
  container: RestartedContainer,
  newest: NewestInstance | undefined,
): boolean {
  if (pod.metadata.deletionTimestamp !== undefined) return false;
  if (newest === undefined) return true;
  switch (newest.state) {
    case 'created':
    case 'unknown':
      return true;
    case 'running':
      return false;
    case 'exited':
      return isContainerRestartable(pod, container, newest.exitCode);
  }
}

/** Whether this exit requests a restart of all containers of the pod. */
export function requestsRestartOfAll(container: RestartedContainer, exitCode: number): boolean {
  return matchingRestartRule(container, exitCode)?.action === 'RestartAllContainers';
}

/** Whether an init or regular container has a rule that could restart all containers of the pod. */
export function couldRestartAllContainers(pod: Pick<Pod, 'spec'>): boolean {
  return [...(pod.spec.initContainers ?? []), ...pod.spec.containers].some((container) =>
    container.restartPolicyRules?.some((rule) => rule.action === 'RestartAllContainers'),
  );
}

function toPolicy(text: string | undefined): RestartPolicy {
  return text === 'Never' || text === 'OnFailure' ? text : 'Always';
}
