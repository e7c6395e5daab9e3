/** The conditions of a pod that tell of its resize: whether it waits, and whether it is being made real. */
import { formatTimestamp, type PodCondition, parseTimestamp } from '../../kube/index.js';

export const resizePending = 'PodResizePending';
export const resizeInProgress = 'PodResizeInProgress';

export type PendingReason = 'Deferred' | 'Infeasible';

export interface PendingResize {
  readonly reason: PendingReason;
  readonly message: string;
  readonly generation: number | undefined;
}

/** The time of the transition moves with the reason only, so that it tells since when the resize waits. */
export function pendingCondition(
  before: PodCondition | undefined,
  { reason, message, generation }: PendingResize,
  nowMs: number,
): PodCondition {
  return {
    type: resizePending,
    status: 'True',
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    lastProbeTime: formatTimestamp(nowMs),
    lastTransitionTime: transitionTime(before, reason, nowMs),
    reason,
    message,
  };
}

/** Whether somebody has to be told: of a pod that waits for another reason, or for another spec. */
export function isNewPending(before: PodCondition | undefined, after: PodCondition): boolean {
  return before?.reason !== after.reason || before?.observedGeneration !== after.observedGeneration;
}

export function inProgressCondition(generation: number | undefined, nowMs: number): PodCondition {
  const now = formatTimestamp(nowMs);
  return {
    type: resizeInProgress,
    status: 'True',
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    lastProbeTime: now,
    lastTransitionTime: now,
  };
}

/** The generation stays that of the resize, whatever the pod was changed to since. */
export function failedCondition(before: PodCondition, message: string, nowMs: number): PodCondition {
  return {
    ...before,
    lastProbeTime: formatTimestamp(nowMs),
    lastTransitionTime: transitionTime(before, 'Error', nowMs),
    reason: 'Error',
    message,
  };
}

/** As the API has it after a restart: how long it has lasted is not known any more. */
export function adoptedCondition(given: PodCondition, nowMs: number): PodCondition {
  return { ...given, lastTransitionTime: formatTimestamp(nowMs) };
}

export function pendingSinceMs(condition: PodCondition | undefined): number | undefined {
  return parseTimestamp(condition?.lastTransitionTime ?? '');
}

function transitionTime(before: PodCondition | undefined, reason: string, nowMs: number): string {
  const kept = before?.reason === reason ? before.lastTransitionTime : undefined;
  return kept ?? formatTimestamp(nowMs);
}
