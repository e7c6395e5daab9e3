/** Whether nothing of a pod runs any more, so that its volumes may be unmounted. */
import type { ObservedPod } from '../../cri/index.js';
import { isRunning } from './housekeeping.js';
import type { WorkerStates } from './pod-states.js';

export interface RuntimeGoneOptions {
  readonly states: Pick<WorkerStates, 'shouldRuntimeBeRemoved' | 'hasWorker'>;
  /** The pods that the last observation showed. */
  readonly observedPods: () => readonly ObservedPod[];
}

/** The worker is the authority; of a pod without one only the runtime knows whether it runs. */
export function isRuntimeGone(uid: string, { states, observedPods }: RuntimeGoneOptions): boolean {
  if (!states.shouldRuntimeBeRemoved(uid)) return false;
  return states.hasWorker(uid) || !observedPods().some((pod) => pod.uid === uid && isRunning(pod));
}
