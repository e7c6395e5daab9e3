/** What the timeline is told of a pod's way through its worker. */
import type { Clock } from '../../async/index.js';
import type { ObservedPod } from '../../cri/index.js';
import type { Pod } from '../../kube/index.js';
import { type EntryInit, type PodRef, podRef, type Timeline } from '../../timeline/index.js';
import type { Acceptance } from './accept.js';
import type { PodRecord } from './record.js';
import type { PodUpdate, UpdateType, WorkerObserver, WorkState } from './types.js';

export function refOf(subject: Pod | ObservedPod): PodRef {
  if ('metadata' in subject) return podRef(subject);
  return { uid: subject.uid, name: subject.name, namespace: subject.namespace };
}

const stepNames: Readonly<Record<WorkState, string>> = {
  sync: 'sync',
  terminating: 'stopping the pod',
  terminated: 'cleaning up after the pod',
};

type Note = Omit<EntryInit, 'pod' | 'data'> & {
  readonly pod: PodRef | undefined;
  readonly data?: EntryInit['data'];
};

export class WorkerRecorder {
  constructor(
    private readonly timeline: Timeline,
    private readonly clock: Clock,
    private readonly observer: WorkerObserver | undefined,
  ) {}

  accepted(
    pod: PodRef,
    record: PodRecord,
    { beganTerminating, graceShortened }: Extract<Acceptance, { kind: 'accepted' }>,
  ): void {
    const data = { graceSeconds: record.graceSeconds };
    if (beganTerminating !== undefined) this.terminating(pod, beganTerminating, data);
    else if (graceShortened) {
      const because = 'a later request asked for less';
      this.#record({
        kind: 'decision',
        what: 'pod.grace',
        message: 'grace period is shorter now',
        because,
        pod,
        data,
      });
    }
  }

  ignored(pod: PodRef, type: UpdateType, because: string): void {
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

  terminating(pod: PodRef | undefined, because: string, data?: EntryInit['data']): void {
    this.#record({
      kind: 'transition',
      what: 'pod.terminating',
      message: 'pod is being stopped',
      because,
      pod,
      data,
    });
  }

  terminated({ pod }: PodUpdate): void {
    this.#record({
      kind: 'transition',
      what: 'pod.terminated',
      message: 'all containers have stopped',
      pod: pod && podRef(pod),
    });
  }

  finished({ pod, startMs }: PodUpdate, message: string, because: string): void {
    this.#record({ kind: 'transition', what: 'pod.finished', message, because, pod: pod && podRef(pod) });
    this.done('terminated', startMs);
  }

  /** `nextTryMs` is the wall-clock time of the next try. */
  failed(state: WorkState, { pod }: PodUpdate, error: unknown, nextTryMs: number): void {
    this.#record({
      kind: 'problem',
      what: `worker.${state}`,
      message: `${stepNames[state]} failed, will be tried again`,
      level: 'warn',
      pod: pod && podRef(pod),
      data: { nextTryMs },
      error,
    });
  }

  recovered(state: WorkState, { pod }: PodUpdate): void {
    this.#record({
      kind: 'notice',
      what: 'worker.recovered',
      message: `${stepNames[state]} succeeded again`,
      level: 'debug',
      pod: pod && podRef(pod),
    });
  }

  cancelled(state: WorkState, { pod }: PodUpdate): void {
    this.#record({
      kind: 'notice',
      what: `worker.${state}`,
      message: `${stepNames[state]} was cancelled`,
      because: 'a newer update is queued',
      level: 'debug',
      pod: pod && podRef(pod),
    });
  }

  /** An update has been made real. */
  done(type: UpdateType | 'terminated', startMs: number | undefined): void {
    if (startMs !== undefined) this.observer?.workDone(type, this.clock.monotonic() - startMs);
  }

  #record({ pod, data, ...entry }: Note): void {
    this.timeline.record({
      ...entry,
      ...(pod === undefined ? {} : { pod }),
      ...(data === undefined ? {} : { data }),
    });
  }
}
