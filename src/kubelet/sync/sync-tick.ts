/** Which pods a sync tick syncs. */
import type { Clock } from '../../async/index.js';
import type { Pod, PodStatus } from '../../kube/index.js';
import { isOverdue } from './active-deadline.js';

export interface SyncTickOptions {
  readonly clock: Pick<Clock, 'now'>;
  /** Gives the pods whose time in the work queue has come, once. */
  readonly queue: { take(): readonly string[] };
  readonly pods: { list(): readonly Pod[] };
  readonly statuses: { get(uid: string): PodStatus | undefined };
  readonly isTerminationRequested: (uid: string) => boolean;
}

/** Whether a pod of these must be stopped when its time is up, and is not being stopped yet. */
export function hasDeadlines(
  pods: readonly Pod[],
  isTerminationRequested: SyncTickOptions['isTerminationRequested'],
): boolean {
  return pods.some(
    ({ spec, metadata }) => spec.activeDeadlineSeconds !== undefined && !isTerminationRequested(metadata.uid),
  );
}

/** The pods to sync at a sync tick: those due in the work queue and those past their deadline, each once. */
export function podsDueAtTick(options: SyncTickOptions): string[] {
  const { clock, queue, pods, statuses, isTerminationRequested } = options;
  const due = new Set(queue.take());
  const nowMs = clock.now();
  for (const pod of pods.list()) {
    // Most pods have no deadline, and a tick looks at all of them.
    if (pod.spec.activeDeadlineSeconds === undefined) continue;
    const { uid } = pod.metadata;
    const facts = {
      status: statuses.get(uid),
      isTerminationRequested: isTerminationRequested(uid),
      nowMs,
    };
    if (isOverdue(pod, facts)) due.add(uid);
  }
  return [...due];
}
