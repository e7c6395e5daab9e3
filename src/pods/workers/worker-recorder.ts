/** What the timeline is told of a pod's way through its worker. */

import type { Clock } from '../../async/index.js';
import type { ObservedPod } from '../../cri/index.js';
import type { Pod } from '../../kube/index.js';
import { type EntryData, type EntryInit, type PodRef, podRef, type Timeline } from '../../timeline/index.js';
import type { PodMetrics } from '../metrics.js';
import type { WorkState } from './pod-state.js';
import type { PodUpdate, PodWork, UpdateType } from './types.js';

export function refOf(subject: Pod | ObservedPod): PodRef {
  if ('metadata' in subject) return podRef(subject);
  return { uid: subject.uid, name: subject.name, namespace: subject.namespace };
}

/** Undefined for a pod that only the runtime knows: its life is no configured pod's. */
function refOfWork(work: PodWork): PodRef | undefined {
  return work.kind === 'pod' ? podRef(work.pod) : undefined;
}

const stepNames: Readonly<Record<WorkState, string>> = {
  sync: 'sync',
  terminating: 'stopping the pod',
  terminated: 'cleaning up after the pod',
};

export class WorkerRecorder {
  constructor(
    private readonly timeline: Timeline,
    private readonly clock: Clock,
    private readonly metrics: Pick<PodMetrics, 'workDuration'>,
  ) {}

  graceShortened(pod: PodRef, graceSeconds: number): void {
    this.#record({
      kind: 'decision',
      what: 'pod.grace',
      message: 'grace period is shorter now',
      because: 'a later request asked for less',
      pod,
      data: { graceSeconds },
    });
  }

  ignored(pod: PodRef, type: PodUpdate['type'], because: string): void {
    // A pod may be synced any number of times after its end; that would only push its history out.
    if (type === 'sync') return;
    this.#record({
      kind: 'decision',
      what: 'worker.ignore',
      message: `${type} ignored`,
      because,
      pod,
      level: 'debug',
    });
  }

  waits(pod: Pod): void {
    const because = 'another static pod of the same name still runs or came first';
    this.#record({
      kind: 'decision',
      what: 'pod.wait',
      message: 'pod waits for its turn',
      because,
      pod: podRef(pod),
    });
  }

  terminating(pod: PodRef | undefined, because: string, data?: EntryData<'pod.terminating'>): void {
    this.#record({
      kind: 'transition',
      what: 'pod.terminating',
      message: 'pod is being stopped',
      because,
      pod,
      data,
    });
  }

  terminated(work: PodWork): void {
    this.#record({
      kind: 'transition',
      what: 'pod.terminated',
      message: 'all containers have stopped',
      pod: refOfWork(work),
    });
  }

  finished(work: PodWork, message: string, because: string): void {
    this.#record({ kind: 'transition', what: 'pod.finished', message, because, pod: refOfWork(work) });
    this.done('terminated', work.startMs);
  }

  /** `nextTryMs` is the wall-clock time of the next try. */
  failed(state: WorkState, work: PodWork, error: unknown, nextTryMs: number): void {
    this.#record({
      kind: 'problem',
      what: `worker.${state}`,
      message: `${stepNames[state]} failed, will be tried again`,
      level: 'warn',
      pod: refOfWork(work),
      data: { nextTryMs },
      error,
    });
  }

  recovered(state: WorkState, work: PodWork): void {
    this.#record({
      kind: 'notice',
      what: 'worker.recovered',
      message: `${stepNames[state]} succeeded again`,
      level: 'debug',
      pod: refOfWork(work),
    });
  }

  cancelled(state: WorkState, work: PodWork): void {
    this.#record({
      kind: 'notice',
      what: `worker.${state}`,
      message: `${stepNames[state]} was cancelled`,
      because: 'a newer update is queued',
      level: 'debug',
      pod: refOfWork(work),
    });
  }

  /** Work has been done. */
  done(type: UpdateType | 'terminated', startMs: number | undefined): void {
    if (startMs === undefined) return;
    this.metrics.workDuration.observe((this.clock.monotonic() - startMs) / 1000, { operation_type: type });
  }

  #record(entry: EntryInit): void {
    this.timeline.record(entry);
  }
}
