/** The pod workers: one sequential worker per pod, and the authority on what may run. */
import {
  type Clock,
  errorText,
  isCausedByCancellation,
  jitter,
  TaskGroup,
  type WorkQueue,
} from '../../async/index.js';
import type { ObservedPodStatus } from '../../cri/index.js';
import { isStaticPod, isTerminalPhase, type Pod } from '../../kube/index.js';
import { podRef, type Timeline } from '../../timeline/index.js';
import { acceptUpdate, markAlreadyTerminated, nothingRuns } from './accept.js';
import { effectiveGrace } from './grace.js';
import { type PodPredicate, predicates } from './predicates.js';
import {
  isTerminationRequested,
  mergeActive,
  newRecord,
  type PodRecord,
  replayOf,
  workState,
} from './record.js';
import { requeueDelayMs } from './requeue.js';
import { StaticPodTurns, type Turn } from './static-order.js';
import type {
  KnownWorker,
  PodStatusSource,
  PodSyncer,
  PodUpdate,
  SyncOutcome,
  WorkerObserver,
  WorkState,
} from './types.js';
import { refOf, WorkerRecorder } from './worker-recorder.js';

export interface PodWorkersOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly syncer: PodSyncer;
  readonly statuses: PodStatusSource;
  /** Where pods are put that want another look later. */
  readonly queue: WorkQueue<string>;
  readonly resyncMs: number;
  readonly errorBackoffMs?: number;
  readonly networkBackoffMs?: number;
  readonly random?: () => number;
  readonly observer?: WorkerObserver;
  /** The pod as its resources were allocated; the spec's own by default. */
  readonly allocated?: (pod: Pod) => Pod;
}

interface Work {
  readonly state: WorkState;
  readonly update: PodUpdate;
  readonly signal: AbortSignal;
}

export class PodWorkers {
  readonly #options: Required<Omit<PodWorkersOptions, 'observer'>> & Pick<PodWorkersOptions, 'observer'>;
  readonly #records = new Map<string, PodRecord>();
  readonly #turns = new StaticPodTurns();
  readonly #running = new Set<string>();
  readonly #tasks: TaskGroup;
  readonly #notes: WorkerRecorder;
  #syncedOnce = false;

  constructor(options: PodWorkersOptions) {
    this.#options = {
      errorBackoffMs: 10_000,
      networkBackoffMs: 1_000,
      random: Math.random,
      allocated: (pod) => pod,
      ...options,
    };
    this.#notes = new WorkerRecorder(options.timeline, options.clock, options.observer);
    this.#tasks = new TaskGroup({
      onError: (task, error) =>
        options.timeline.record({
          kind: 'problem',
          what: 'worker.crash',
          message: `${task} failed unexpectedly`,
          error,
        }),
    });
  }

  /** Hands a change to the pod's worker; it never waits. */
  update(update: PodUpdate): void {
    if (update.pod !== undefined && update.runtimePod !== undefined) {
      const { runtimePod: _dropped, ...rest } = update;
      this.update(rest);
      return;
    }
    const subject = update.pod ?? update.runtimePod;
    if (subject === undefined || (update.pod === undefined && update.type !== 'kill')) return;
    const ref = refOf(subject);
    const nowMs = this.#options.clock.monotonic();

    let record = this.#records.get(ref.uid);
    const firstTime = record === undefined;
    if (record === undefined) {
      record = newRecord(ref.uid, `${ref.name}_${ref.namespace}`, nowMs);
      if (update.pod !== undefined && isTerminalPhase(update.pod.status?.phase)) {
        const known = this.#options.statuses.peek(ref.uid);
        if ('status' in known && nothingRuns(known.status)) markAlreadyTerminated(record, nowMs);
      }
      this.#records.set(ref.uid, record);
    }

    const acceptance = acceptUpdate({ record, firstTime, update, nowMs });
    if (acceptance.kind === 'ignored') {
      this.#notes.ignored(ref, update.type, acceptance.because);
      return;
    }
    for (const complete of acceptance.completeNow) complete();
    this.#notes.accepted(ref, record, acceptance);

    if (!record.open) {
      record.open = true;
      if (update.pod !== undefined && isStaticPod(update.pod))
        this.#turns.enqueue(record.fullName, record.uid);
    }
    const { pod } = acceptance.update;
    record.pending =
      pod === undefined ? acceptance.update : { ...acceptance.update, pod: this.#options.allocated(pod) };
    record.working = true;
    // Before the worker takes the update: the signal of its step must not be the one that is aborted here.
    if (acceptance.beganTerminating !== undefined || acceptance.graceShortened) record.cancellation?.abort();
    this.#wake(record);
  }

  /**
   * Tells the workers the full set of configured pods. Those that are gone are torn down, finished ones are
   * forgotten; the caller adds configured pods that are missing from the answer anew.
   */
  syncKnown(desired: ReadonlySet<string>): Map<string, KnownWorker> {
    this.#syncedOnce = true;
    const known = new Map<string, KnownWorker>();
    for (const [uid, record] of [...this.#records]) {
      const orphan = !desired.has(uid);
      if ((orphan || record.restartRequested) && this.#retire(record, orphan)) continue;
      const pod = record.active === undefined ? record.pending?.pod : record.active.pod;
      known.set(uid, {
        state: workState(record),
        orphan,
        hasConfig: pod !== undefined,
        isStatic: pod !== undefined && isStaticPod(pod),
      });
    }
    return known;
  }

  /** Asks one of the questions about a pod's life. */
  is(question: PodPredicate, uid: string): boolean {
    return predicates[question]({ record: this.#records.get(uid), syncedOnce: this.#syncedOnce });
  }

  /** Whether a started static pod of this full name is being torn down, so that its mirror must stay. */
  isStaticPodTerminating(fullName: string): boolean {
    const holder = this.#turns.holder(fullName);
    const record = holder === undefined ? undefined : this.#records.get(holder);
    return record !== undefined && workState(record) === 'terminating';
  }

  /** The state of a pod's worker, for people and tests. */
  stateOf(uid: string): WorkState | 'finished' | undefined {
    const record = this.#records.get(uid);
    if (record === undefined) return undefined;
    return record.finished ? 'finished' : workState(record);
  }

  /** What is worth showing of every worker. */
  list(): readonly Readonly<PodRecord>[] {
    return [...this.#records.values()];
  }

  /** Whether no worker has anything to do right now. */
  get idle(): boolean {
    return this.#running.size === 0;
  }

  /** Cancels what workers wait for and awaits them; containers go on. */
  async stop(): Promise<void> {
    for (const record of this.#records.values()) record.cancellation?.abort();
    await this.#tasks.stop();
  }

  #wake(record: PodRecord): void {
    if (this.#running.has(record.uid)) return;
    this.#running.add(record.uid);
    this.#tasks.start(`worker of pod ${record.fullName}`, async (stopped) => {
      try {
        while (!stopped.aborted && this.#isCurrent(record) && record.open && record.pending !== undefined) {
          const work = this.#takeWork(record);
          if (work === undefined) break;
          await this.#step(record, work);
        }
      } finally {
        this.#running.delete(record.uid);
        // A record of the same UID may have been made anew while this one ended.
        const current = this.#records.get(record.uid);
        if (current !== undefined && current.pending !== undefined && current.working) this.#wake(current);
      }
    });
  }

  #isCurrent(record: PodRecord): boolean {
    return this.#records.get(record.uid) === record;
  }

  #takeWork(record: PodRecord): Work | undefined {
    const update = record.pending;
    if (update === undefined) {
      record.working = false;
      return undefined;
    }
    record.pending = undefined;
    const state = workState(record);
    if (record.cancellation === undefined || record.cancellation.signal.aborted) {
      record.cancellation = new AbortController();
    }
    const work: Work = { state, update, signal: record.cancellation.signal };
    if (record.startedAtMs !== undefined || (update.runtimePod !== undefined && state === 'terminating')) {
      mergeActive(record, update);
      return work;
    }
    const pod = update.pod;
    if (pod === undefined) {
      record.working = false;
      return undefined;
    }
    switch (this.#turnOf(record, pod)) {
      case 'never':
        record.finished = true;
        record.terminatedAtMs = this.#options.clock.monotonic();
        this.#close(record);
        this.#notes.finished(update, 'pod never started', 'it was stopped before its turn came');
        return undefined;
      case 'wait':
        record.pending = update;
        record.working = false;
        this.#options.queue.enqueue(record.uid, jitter(this.#options.errorBackoffMs, this.#options.random));
        this.#notes.waits(pod);
        return undefined;
      case 'start':
        record.startedAtMs = this.#options.clock.monotonic();
        mergeActive(record, update);
        this.#options.observer?.podStarted(pod.spec.containers.length);
        return work;
    }
  }

  #turnOf(record: PodRecord, pod: Pod): Turn {
    if (!isStaticPod(pod)) return 'start';
    return this.#turns.decide(record.fullName, record.uid, (uid) => {
      const other = this.#records.get(uid);
      return other === undefined ? undefined : { terminationRequested: isTerminationRequested(other) };
    });
  }

  async #step(record: PodRecord, work: Work): Promise<void> {
    let terminal = false;
    let error: unknown;
    try {
      terminal = await this.#runSyncer(record, work);
    } catch (caught) {
      error = caught;
    }
    // A step that was cut off by the end of the agent says nothing about the pod.
    if (!this.#isCurrent(record) || this.#tasks.signal.aborted) return;
    let phaseTransition = false;
    if (error !== undefined && work.signal.aborted && isCausedByCancellation(error)) {
      // The update that aborted the step is pending, and is handled next.
      this.#notes.cancelled(work.state, work.update);
      return;
    }
    if (error === undefined && record.lastStepFailed) this.#notes.recovered(work.state, work.update);
    record.lastStepFailed = error !== undefined;
    if (error !== undefined) {
      const delayMs = this.#requeue(record, false, error);
      this.#notes.failed(work.state, work.update, error, this.#options.clock.now() + delayMs);
      this.#notes.done(work.update.type, work.update.startMs);
      return;
    }
    if (work.state === 'terminated') {
      this.#finish(record, work);
      return;
    } else if (work.state === 'terminating') {
      if (work.update.runtimePod !== undefined) {
        this.#close(record);
        this.#records.delete(record.uid);
        this.#notes.done(work.update.type, work.update.startMs);
        return;
      }
      this.#markTerminated(record, work);
      phaseTransition = true;
    } else if (terminal) {
      record.terminatingAtMs ??= this.#options.clock.monotonic();
      record.startedTerminating = true;
      this.#notes.terminating(work.update.pod && podRef(work.update.pod), 'it reached its final phase');
      this.#replay(record);
      phaseTransition = true;
    }
    this.#requeue(record, phaseTransition, undefined);
    this.#notes.done(work.update.type, work.update.startMs);
  }

  /** Runs the step of the pod's state; true when a sync found that the pod has come to its end. */
  async #runSyncer(record: PodRecord, work: Work): Promise<boolean> {
    const { syncer, clock } = this.#options;
    const { pod, runtimePod } = work.update;
    let outcome: SyncOutcome = { terminal: false };
    if (runtimePod !== undefined) {
      record.startedTerminating = true;
      await syncer.syncTerminatingRuntimePod(runtimePod);
    } else {
      // Every update without a runtime pod carries a pod; the first step of `update()` saw to it.
      const status = await this.#freshStatus(record, work, pod as Pod);
      try {
        outcome = await this.#callSyncer(record, work, pod as Pod, status);
      } finally {
        // A step that failed may have done something, too, so that what was seen before it no longer holds.
        record.lastStepEndedAtMs = outcome.settledAtMs ?? clock.monotonic();
      }
    }
    outcome.after?.();
    return outcome.terminal;
  }

  /** What the runtime shows of the pod since the last step ended. */
  async #freshStatus(record: PodRecord, work: Work, pod: Pod): Promise<ObservedPodStatus> {
    const { statuses, timeline } = this.#options;
    const waitSignal = work.state === 'terminating' ? this.#tasks.signal : work.signal;
    try {
      return await statuses.newerThan(record.uid, record.lastStepEndedAtMs, waitSignal);
    } catch (error) {
      if (!waitSignal.aborted) {
        const text = errorText(error);
        timeline.event(podRef(pod), 'Warning', 'FailedSync', `error determining status: ${text}`);
      }
      throw error;
    }
  }

  async #callSyncer(
    record: PodRecord,
    { state, update, signal }: Work,
    pod: Pod,
    status: ObservedPodStatus,
  ): Promise<SyncOutcome> {
    const { syncer } = this.#options;
    switch (state) {
      case 'terminated':
        await syncer.syncTerminatedPod({ pod, status, signal });
        return { terminal: false };
      case 'terminating':
        record.startedTerminating = true;
        return {
          terminal: false,
          ...(await syncer.syncTerminatingPod({
            pod,
            status,
            graceSeconds: update.kill?.graceOverrideSeconds,
            statusOverride: record.statusOverrides.at(-1),
            signal,
          })),
        };
      case 'sync': {
        const { type, mirror } = update;
        return syncer.syncPod({ type, pod, mirror, status, signal });
      }
    }
  }

  #markTerminated(record: PodRecord, work: Work): void {
    record.terminatedAtMs = this.#options.clock.monotonic();
    for (const notify of record.onTerminated.splice(0)) notify();
    record.statusOverrides.splice(0);
    this.#notes.terminated(work.update);
    this.#replay(record);
  }

  #finish(record: PodRecord, work: Work): void {
    record.finished = true;
    this.#close(record);
    this.#notes.finished(work.update, 'pod is finished', 'all of its resources are released');
  }

  /** Copies the last state handed over to the pending one, unless something newer waits. */
  #replay(record: PodRecord): void {
    if (record.pending !== undefined || record.active === undefined) return;
    record.pending = replayOf(record.active);
    record.working = true;
    if (record.open) this.#wake(record);
  }

  /** Returns after how long the pod is looked at again, if nothing happens before. */
  #requeue(record: PodRecord, phaseTransition: boolean, error: unknown): number {
    const { queue, resyncMs, errorBackoffMs, networkBackoffMs, clock, random } = this.#options;
    const delayMs = requeueDelayMs({
      phaseTransition,
      error,
      resyncMs,
      errorBackoffMs,
      networkBackoffMs,
      nowMs: clock.now(),
      random,
    });
    queue.enqueue(record.uid, delayMs);
    if (record.pending === undefined) record.working = false;
    return delayMs;
  }

  /** Ends the worker and gives the turn of its full name to the next. */
  #close(record: PodRecord): void {
    record.working = false;
    record.open = false;
    record.pending = undefined;
    record.cancellation = undefined;
    for (const waiting of this.#turns.release(record.fullName, record.uid))
      this.#options.queue.enqueue(waiting, 0);
  }

  /** Forgets the record if nothing of the pod is left to do; else makes sure that it comes to that. */
  #retire(record: PodRecord, orphan: boolean): boolean {
    if (!record.finished) {
      if (!orphan) return false;
      record.deleted = true;
      const neverStarted = record.startedAtMs === undefined && !record.observedRuntime;
      if (!neverStarted) {
        if (!isTerminationRequested(record)) {
          record.terminatingAtMs = this.#options.clock.monotonic();
          const pod = record.active?.pod;
          record.graceSeconds =
            pod === undefined
              ? 1
              : effectiveGrace({
                  currentSeconds: record.graceSeconds,
                  deletionGraceSeconds: pod.metadata.deletionGracePeriodSeconds,
                  overrideSeconds: undefined,
                  specSeconds: pod.spec.terminationGracePeriodSeconds,
                }).seconds;
          this.#notes.terminating(pod && podRef(pod), 'it is no longer configured');
        }
        this.#replay(record);
        return false;
      }
    }
    this.#close(record);
    this.#records.delete(record.uid);
    this.#options.queue.forget(record.uid);
    return true;
  }
}
