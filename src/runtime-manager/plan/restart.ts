/** Decides whether a dead container is started again, and says why. */
import {
  effectiveRestartPolicy,
  hasOwnRestartPolicy,
  type NewestInstance,
  type Pod,
  restartingRule,
  shouldBeRestarted,
} from '../../kube/index.js';
import type { AnyContainer } from '../contracts.js';

export interface RestartVerdict {
  readonly restart: boolean;
  readonly because: string;
}

/** Whether a container that does not run is to be started. */
export function restartDecision(
  pod: Pod,
  container: AnyContainer,
  newest: NewestInstance | undefined,
): RestartVerdict {
  return { restart: shouldBeRestarted(pod, container, newest), because: reason(pod, container, newest) };
}

function reason(pod: Pod, container: AnyContainer, newest: NewestInstance | undefined): string {
  if (pod.metadata.deletionTimestamp !== undefined) return 'the pod is being deleted';
  if (newest === undefined) return 'it has not run yet';
  if (newest.state === 'created') return 'it was created but never started';
  if (newest.state !== 'exited') return `its state is ${newest.state}`;
  const { exitCode } = newest;
  const rule = restartingRule(container, exitCode);
  if (rule !== undefined) return `exited ${exitCode}, rule ${rule.action}`;
  const owner = hasOwnRestartPolicy(container) ? 'container policy' : 'policy';
  return `exited ${exitCode}, ${owner} ${effectiveRestartPolicy(pod, container)}`;
}
