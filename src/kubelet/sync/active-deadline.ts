/** Whether a pod has run longer than its `activeDeadlineSeconds` allows and must be synced to be stopped. */
import type { Pod, PodStatus } from '../../kube/index.js';
import { isPastActiveDeadline } from '../../pods/status/index.js';

export interface OverdueFacts {
  /** What the status manager holds of the pod; it knows the start time before the API does. */
  readonly status: PodStatus | undefined;
  readonly isTerminationRequested: boolean;
  readonly nowMs: number;
}

/** Whether a pod that is not being stopped yet has used up its time. */
export function isOverdue(pod: Pod, { status, isTerminationRequested, nowMs }: OverdueFacts): boolean {
  const startTime = status?.startTime ?? pod.status?.startTime;
  return isPastActiveDeadline(pod, startTime, nowMs) && !isTerminationRequested;
}
