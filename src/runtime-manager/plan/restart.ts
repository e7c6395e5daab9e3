/** Decides whether a container that does not run is started, and why. */
import {
  type AnyContainer,
  effectiveRestartPolicy,
  hasOwnRestartPolicy,
  type NewestInstance,
  type Pod,
  restartingRule,
  shouldBeRestarted,
} from '../../kube/index.js';
import type { PlanReason } from '../../timeline/index.js';
import { type Because, becauseOf } from './pod-plan.js';

export interface RestartVerdict extends Because {
  readonly restart: boolean;
}

export function restartDecision(
  pod: Pod,
  container: AnyContainer,
  newest: NewestInstance | undefined,
): RestartVerdict {
  const restart = shouldBeRestarted(pod, container, newest);
  return { restart, ...becauseOf(causeOf(pod, container, newest)) };
}

function causeOf(pod: Pod, container: AnyContainer, newest: NewestInstance | undefined): PlanReason {
  if (pod.metadata.deletionTimestamp !== undefined) return { reason: 'PodDeleted' };
  if (newest === undefined) return { reason: 'NotRunYet' };
  if (newest.state === 'created') return { reason: 'CreatedNotStarted' };
  if (newest.state !== 'exited') return { reason: 'ContainerState', state: newest.state };
  const { exitCode } = newest;
  const rule = restartingRule(container, exitCode);
  if (rule !== undefined) return { reason: 'ExitedWithRule', exitCode, rule: rule.action ?? '' };
  return {
    reason: 'Exited',
    exitCode,
    restartPolicy: effectiveRestartPolicy(pod, container),
    policyOwner: hasOwnRestartPolicy(container) ? 'container' : 'pod',
  };
}
