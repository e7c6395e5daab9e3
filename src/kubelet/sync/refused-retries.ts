/** Judges static pods again that were refused, and starts those that have their place now. */
import type { Clock, Gate, TaskGroup } from '../../async/index.js';
import type { Pod, PodStatus } from '../../kube/index.js';
import type { PodManager } from '../../pods/desired/index.js';
import type { PodWorkers } from '../../pods/workers/index.js';
import { podRef, type Timeline } from '../../timeline/index.js';
import type { RefusedStaticPods } from '../admission/refused-static-pods.js';
import type { AllocationAdmission } from '../allocation/allocation-admission.js';
import type { PodHandlers } from './pod-handlers.js';

export interface RefusedRetriesOptions {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly timeline: Timeline;
  readonly pods: Pick<PodManager, 'byUid'>;
  readonly workers: Pick<PodWorkers, 'stateOf' | 'update'>;
  readonly statuses: { get(uid: string): PodStatus | undefined; remove(uid: string): void };
  readonly admission: Pick<AllocationAdmission, 'recall' | 'admitNew'>;
  readonly refusals: Pick<RefusedStaticPods, 'due' | 'refused' | 'admitted'>;
  readonly handlers: Pick<PodHandlers, 'isRefused' | 'settle'>;
  /** Pods that may use resources of the node. */
  readonly active: () => readonly Pod[];
  /** One decision at a time, so that no two are about the same room. */
  readonly turns: Gate;
  readonly tasks: Pick<TaskGroup, 'start'>;
}

export class RefusedRetries {
  readonly #options: RefusedRetriesOptions;
  #isRetrying = false;

  constructor(options: RefusedRetriesOptions) {
    this.#options = options;
  }

  /** Looks who is due; they are judged beside the caller, one after another. */
  run(): void {
    const { refusals, tasks, turns } = this.#options;
    if (this.#isRetrying) return;
    const due = refusals.due();
    if (due.length === 0) return;
    this.#isRetrying = true;
    tasks.start('the admission of refused static pods', async (signal) => {
      try {
        for (const { uid, because } of due) await turns.run(() => this.#retry(uid, because), { signal });
      } finally {
        this.#isRetrying = false;
      }
    });
  }

  /** Nobody makes room for a pod that was refused once: the pods that came since have their place. */
  async #retry(uid: string, because: string): Promise<void> {
    const { pods, workers, statuses, admission, refusals, handlers, timeline, clock, active } = this.#options;
    const pod = pods.byUid(uid);
    if (pod === undefined) return;
    if (workers.stateOf(uid)?.kind === 'finished') {
      // Its worker ended what the pod had left. The next housekeeping forgets the worker; then the pod is judged.
      workers.update({ type: 'create', pod });
      return;
    }
    if (!handlers.isRefused(pod)) {
      // A worker that still ends what the pod had left is waited for.
      if (statuses.get(uid)?.phase !== 'Failed') refusals.admitted(uid);
      return;
    }
    const asGiven = admission.recall(pod);
    const answer = await admission.admitNew(asGiven, active());
    // It may have gone, or got a worker that ends it, while it was judged.
    if (pods.byUid(uid) !== pod || !handlers.isRefused(pod)) return;
    timeline.record({
      kind: 'decision',
      what: 'pod.retry',
      message: answer.admit
        ? 'pod was refused before, and is admitted now'
        : `pod is refused again: ${answer.message}`,
      because,
      pod: podRef(pod),
      data: { admitted: answer.admit },
    });
    if (!answer.admit) return refusals.refused(pod, answer.reason);
    const told = `Pod was refused before, and is admitted now: ${because}`;
    timeline.event(podRef(pod), 'Normal', 'AdmittedOnRetry', told);
    // Whatever the pod becomes, its refusal is no part of it.
    statuses.remove(uid);
    handlers.settle(pod, asGiven, answer, clock.monotonic());
  }
}
