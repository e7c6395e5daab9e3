/** Overrides of the phase that a pod's containers give: terminal phases, deadlines, killers, rejection. */
import {
  formatTimestamp,
  isTerminalPhase,
  type Pod,
  type PodPhase,
  type PodStatus,
  parseTimestamp,
  qosClass,
} from '../../kube/index.js';
import { withCondition } from './condition-list.js';

export const deadlineExceededReason = 'DeadlineExceeded';
export const deadlineExceededMessage = 'Pod was active on the node longer than the specified deadline';

export interface PhaseAndReason {
  readonly phase: PodPhase;
  readonly reason: string;
  readonly message: string;
}

export interface OverrideInput {
  readonly computed: PodPhase;
  /** The status manager's status, else the API's. */
  readonly old: PodStatus;
  readonly api: PodStatus;
  readonly isPastDeadline: boolean;
}

export function overridePhase({ computed, old, api, isPastDeadline }: OverrideInput): PhaseAndReason {
  let phase = keepTerminal(computed, old.phase, api.phase);
  let reason = '';
  let message = '';
  if (phase === old.phase) {
    reason = old.reason || api.reason || '';
    message = old.message || api.message || '';
  }
  if (isPastDeadline) {
    phase = 'Failed';
    reason = deadlineExceededReason;
    message = deadlineExceededMessage;
  }
  // A terminal phase in the API stays.
  if (api.phase !== undefined && isTerminalPhase(api.phase)) phase = api.phase;
  return { phase, reason, message };
}

function keepTerminal(computed: PodPhase, old: PodPhase | undefined, api: PodPhase | undefined): PodPhase {
  if (isTerminalPhase(computed)) return computed;
  if (old !== undefined && isTerminalPhase(old)) return old;
  if (api !== undefined && isTerminalPhase(api)) return api;
  return computed;
}

/** Whether the pod is past its active deadline. */
export function isPastActiveDeadline(pod: Pod, startTime: string | undefined, nowMs: number): boolean {
  const { activeDeadlineSeconds } = pod.spec;
  if (activeDeadlineSeconds === undefined || startTime === undefined) return false;
  const startMs = parseTimestamp(startTime);
  return startMs !== undefined && nowMs - startMs >= activeDeadlineSeconds * 1000;
}

/** Who kills a pod, and what its status says about it. */
export type Killer =
  | { readonly by: 'eviction'; readonly message: string }
  /** The pod itself used more than it may: nobody else disrupts it. */
  | { readonly by: 'localStorage'; readonly message: string }
  | { readonly by: 'preemption' }
  | { readonly by: 'shutdown' };

const shutdownMessage = 'Pod was terminated in response to imminent node shutdown.';

/** The status with the killer's phase, reason, message and disruption condition. */
export function applyKiller(pod: Pod, status: PodStatus, killer: Killer, nowMs: number): PodStatus {
  switch (killer.by) {
    case 'eviction':
      return disrupted(pod, status, nowMs, killer.message, {
        phase: 'Failed',
        reason: 'Evicted',
        message: killer.message,
      });
    case 'localStorage':
      return { ...status, phase: 'Failed', reason: 'Evicted', message: killer.message };
    case 'preemption':
      return disrupted(pod, status, nowMs, 'Pod was preempted by Kubelet to accommodate a critical pod.', {
        phase: 'Failed',
        reason: 'Preempting',
        message: 'Preempted in order to admit critical pod',
      });
    case 'shutdown':
      return disrupted(pod, status, nowMs, shutdownMessage, {
        phase: status.phase === 'Succeeded' ? 'Succeeded' : 'Failed',
        reason: 'Terminated',
        message: shutdownMessage,
      });
  }
}

function disrupted(
  pod: Pod,
  status: PodStatus,
  nowMs: number,
  text: string,
  outcome: PhaseAndReason,
): PodStatus {
  const conditions = withCondition(status.conditions, {
    type: 'DisruptionTarget',
    status: 'True',
    ...(pod.metadata.generation === undefined ? {} : { observedGeneration: pod.metadata.generation }),
    lastProbeTime: null,
    lastTransitionTime: formatTimestamp(nowMs),
    reason: 'TerminationByKubelet',
    message: text,
  });
  return { ...status, ...outcome, conditions };
}

/** The whole status of a rejected pod; it never had containers or conditions here. */
export function rejectedStatus(pod: Pod, reason: string, text: string): PodStatus {
  return { phase: 'Failed', reason, message: `Pod was rejected: ${text}`, qosClass: qosClass(pod) };
}
