/** The pod workers: one sequential worker per pod, and the authority on what may run. */

import { type Clock, jitter, programStops, TaskGroup, type WorkQueue } from '../../async/index.js';
import { isStaticPod, type Pod } from '../../kube/index.js';
import { type PodRef, podRef, type Timeline } from '../../timeline/index.js';
import { createPodMetrics, type PodMetrics } from '../metrics.js';
import { acceptUpdate, nothingRuns, type UpdateEffect } from './accept-update.js';
import { afterStep, begin, isEnding, type PodState, retire, workStateOf } from './pod-state.js';
import * as predicates from './predicates.js';
import { outcomeOfThrow, type RequeueInput, requeueDelayMs } from './requeue.js';
import { runStep, type StepDeps } from './run-step.js';
import { StaticPodOrder, type StaticPodStart } from './static-order.js';
import type { KnownWorker, PodStatusSource, PodSyncer, PodUpdate, PodWork, SyncOutcome } from './types.js';
import { mergedWork, newWorker, podOf, typeOf, type Worker, type WorkerStep } from './worker.js';
import { refOf, WorkerRecorder } from './worker-recorder.js';

type WorkerMetrics = Pick<PodMetrics, 'workDuration' | 'containersPerPod'>;

export interface PodWorkersOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly syncer: PodSyncer;
  readonly statuses: PodStatusSource;
  /** Holds pods until they are due for another sync. */
  readonly queue: WorkQueue<string>;
  readonly resyncMs: number;
  readonly errorBackoffMs?: number;
  readonly networkBackoffMs?: number;
  readonly random?: () => number;
  /** Metrics that nobody reads by default. */
  readonly metrics?: WorkerMetrics;
  /** The pod as its resources were allocated; the spec's own by default. */
  readonly allocated?: (pod: Pod) => Pod;
}

/** Told of a pod of which nothing is left on the node. */
export type FinishListener = (uid: string, pod: PodRef) => void;

export class PodWorkers {
  readonly #options: Required<PodWorkersOptions>;
  readonly #workers = new Map<string, Worker>();
  readonly #turns = new StaticPodOrder();
  readonly #running = new Set<string>();
  readonly #tasks: TaskGroup;
  readonly #recorder: WorkerRecorder;
  readonly #stepDeps: StepDeps;
  readonly #finishListeners = new Set<FinishListener>();
  readonly #moveListeners = new Set<() => void>();
  #syncedOnce = false;

  constructor(options: PodWorkersOptions) {
    this.#options = {
      errorBackoffMs: 10_000,
      networkBackoffMs: 1_000,
      random: Math.random,
      allocated: (pod) => pod,
      ...options,
      metrics: options.metrics ?? createPodMetrics(),
    };
    this.#recorder = new WorkerRecorder(options.timeline, options.clock, this.#options.metrics);
    this.#tasks = new TaskGroup({
      onError: (task, error) =>
        options.timeline.record({
          kind: 'problem',
          what: 'worker.crash',
          message: `${task} failed unexpectedly`,
          error,
        }),
    });
    const { clock, timeline, syncer, statuses } = options;
    this.#stepDeps = { clock, timeline, syncer, statuses, stopped: this.#tasks.signal };
  }

  /** Calls back with each pod whose worker has nothing more to do; returns how to stop that. */
  onFinished(listener: FinishListener): () => void {
    this.#finishListeners.add(listener);
    return () => void this.#finishListeners.delete(listener);
  }

  /** Calls back when a pod got a worker, moved to another state or lost its worker; returns how to stop that. */
  onMoved(listener: () => void): () => void {
    this.#moveListeners.add(listener);
    return () => void this.#moveListeners.delete(listener);
  }

  /** Hands a change to the pod's worker; it never waits. */
  update(update: PodUpdate): void {
    const subject = update.type === 'killRuntimePod' ? update.runtimePod : update.pod;
    const ref = refOf(subject);
    const known = this.#workers.get(ref.uid);
    const decision = acceptUpdate(known?.state, update, {
      nowMs: this.#options.clock.monotonic(),
      knownPod: podOf(known?.pending) ?? podOf(known?.active),
      nothingRuns: known === undefined && this.#nothingRuns(ref.uid),
      waitingSinceMs: known?.pending?.startMs,
    });
    const worker = known ?? newWorker(ref.uid, `${ref.name}_${ref.namespace}`, decision.state);
    const hasMoved = known?.state.kind !== decision.state.kind;
    worker.state = decision.state;
    if (known === undefined) {
      this.#workers.set(worker.uid, worker);
      if (update.type !== 'killRuntimePod' && isStaticPod(update.pod))
        this.#turns.enqueue(worker.fullName, worker.uid);
    }
    for (const effect of decision.effects) this.#apply(worker, effect, update);
    if (hasMoved) this.#moved();
  }

  /**
   * Tells the workers the full set of configured pods. Those that are gone are torn down, finished ones are
   * forgotten; the caller adds configured pods that are missing from the answer anew.
   */
  syncKnown(desired: ReadonlySet<string>): Map<string, KnownWorker> {
    this.#syncedOnce = true;
    const known = new Map<string, KnownWorker>();
    for (const [uid, worker] of [...this.#workers]) {
      const orphan = !desired.has(uid);
      if (this.#retire(worker, orphan)) continue;
      const pod = podOf(worker.active ?? worker.pending);
      known.set(uid, {
        state: workStateOf(worker.state),
        orphan,
        hasConfig: pod !== undefined,
        isStatic: pod !== undefined && isStaticPod(pod),
      });
    }
    return known;
  }

  /** Whether all containers of the pod are known to have stopped. */
  isKnownTerminated(uid: string): boolean {
    return predicates.isKnownTerminated(this.#knowledge(uid));
  }

  couldHaveRunningContainers(uid: string): boolean {
    return predicates.couldHaveRunningContainers(this.#knowledge(uid));
  }

  shouldBeFinished(uid: string): boolean {
    return predicates.shouldBeFinished(this.#knowledge(uid));
  }

  isTerminationRequested(uid: string): boolean {
    return predicates.isTerminationRequested(this.#knowledge(uid));
  }

  /** Whether no container of the pod may start any more. */
  shouldContainersBeTerminating(uid: string): boolean {
    return predicates.shouldContainersBeTerminating(this.#knowledge(uid));
  }

  /** Whether nothing of the pod may be left in the runtime. */
  shouldRuntimeBeRemoved(uid: string): boolean {
    return predicates.shouldRuntimeBeRemoved(this.#knowledge(uid));
  }

  /** Whether the pod's volumes and directories may be removed. */
  shouldContentBeRemoved(uid: string): boolean {
    return predicates.shouldContentBeRemoved(this.#knowledge(uid));
  }

  /** Whether a started static pod of this full name is being torn down, so that its mirror must stay. */
  isStaticPodTerminating(fullName: string): boolean {
    const holder = this.#turns.holder(fullName);
    return holder !== undefined && this.#workers.get(holder)?.state.kind === 'terminating';
  }

  /** The state of a pod; undefined of one that has no worker. */
  stateOf(uid: string): PodState | undefined {
    return this.#workers.get(uid)?.state;
  }

  /** Whether no worker has anything to do right now. */
  get idle(): boolean {
    return this.#running.size === 0;
  }

  /** Cancels what workers wait for and awaits them; containers go on. */
  async stop(): Promise<void> {
    for (const worker of this.#workers.values()) worker.cancellation?.abort(programStops);
    await this.#tasks.stop();
  }

  #knowledge(uid: string): predicates.PodKnowledge {
    return { state: this.#workers.get(uid)?.state, syncedOnce: this.#syncedOnce };
  }

  #nothingRuns(uid: string): boolean {
    const seen = this.#options.statuses.peek(uid);
    return 'status' in seen && nothingRuns(seen.status);
  }

  #apply(worker: Worker, effect: UpdateEffect, update: PodUpdate): void {
    const ref = refOf(update.type === 'killRuntimePod' ? update.runtimePod : update.pod);
    switch (effect.kind) {
      case 'ignore':
        this.#recorder.ignored(ref, update.type, effect.because);
        return;
      case 'complete':
        effect.notify();
        return;
      case 'terminationBegan':
        this.#recorder.terminating(ref, effect.because, { graceSeconds: effect.graceSeconds });
        return;
      case 'graceShortened':
        this.#recorder.graceShortened(ref, effect.graceSeconds);
        return;
      case 'cancelStep':
        worker.cancellation?.abort();
        return;
      case 'handOver': {
        const { work } = effect;
        worker.pending = work.kind === 'pod' ? { ...work, pod: this.#options.allocated(work.pod) } : work;
        worker.awaitsTurn = false;
        this.#wake(worker);
        return;
      }
    }
  }

  #wake(worker: Worker): void {
    if (this.#running.has(worker.uid)) return;
    this.#running.add(worker.uid);
    this.#tasks.start(`worker of pod ${worker.fullName}`, async (stopped) => {
      try {
        while (!stopped.aborted && this.#isCurrent(worker)) {
          const step = this.#takeWork(worker);
          if (step === undefined) break;
          const { kind } = worker.state;
          await this.#run(worker, step);
          if (worker.state.kind !== kind || !this.#isCurrent(worker)) this.#moved();
        }
      } finally {
        this.#running.delete(worker.uid);
        // At rest there is nothing to cancel; the next step gets its own.
        worker.cancellation = undefined;
        // A worker of the same UID may have been made anew while this one ended.
        const current = this.#workers.get(worker.uid);
        if (current?.pending !== undefined && !current.awaitsTurn) this.#wake(current);
      }
    });
  }

  #moved(): void {
    for (const listener of this.#moveListeners) listener();
  }

  #isCurrent(worker: Worker): boolean {
    return this.#workers.get(worker.uid) === worker;
  }

  /** The next step; undefined while there is none. */
  #takeWork(worker: Worker): WorkerStep | undefined {
    const { pending: work, state } = worker;
    if (work === undefined || state.kind === 'finished') return undefined;
    const isFirst = state.kind !== 'syncing' && (state.kind === 'waiting' || state.startedAtMs === undefined);
    if (isFirst && work.kind === 'pod') {
      const turn = this.#turnOf(worker, work.pod);
      worker.state = begin(state, turn, this.#options.clock.monotonic());
      if (turn === 'never') {
        this.#finish(worker, work, 'pod never started', 'it was stopped before its turn came');
        return undefined;
      }
      if (turn === 'wait') {
        worker.awaitsTurn = true;
        this.#options.queue.enqueue(worker.uid, jitter(this.#options.errorBackoffMs, this.#options.random));
        this.#recorder.waits(work.pod);
        return undefined;
      }
      this.#options.metrics.containersPerPod.observe(work.pod.spec.containers.length);
    }
    worker.pending = undefined;
    worker.active = mergedWork(worker.active, work);
    if (worker.cancellation === undefined || worker.cancellation.signal.aborted) {
      worker.cancellation = new AbortController();
    }
    return { state: workStateOf(worker.state), work, signal: worker.cancellation.signal };
  }

  #turnOf(worker: Worker, pod: Pod): StaticPodStart {
    if (!isStaticPod(pod)) return 'start';
    const turn = this.#turns.decide(worker.fullName, worker.uid, (uid) => {
      const other = this.#workers.get(uid);
      return other && { terminationRequested: isEnding(other.state) };
    });
    // One that runs from before this start had its turn then, and must be stopped like any other.
    return turn === 'never' && !this.#nothingRuns(worker.uid) ? 'start' : turn;
  }

  async #run(worker: Worker, step: WorkerStep): Promise<void> {
    const { state, work } = step;
    let outcome: SyncOutcome;
    try {
      outcome = await runStep(this.#stepDeps, worker, step);
      if (outcome.kind === 'done') outcome.after?.();
    } catch (error) {
      outcome = outcomeOfThrow(error, step.signal);
    }
    // A step that was cut off by the end of the agent says nothing about the pod.
    if (!this.#isCurrent(worker) || this.#tasks.signal.aborted) return;
    if (outcome.kind === 'cancelled') {
      // The update that cancelled the step is pending, and is handled next.
      this.#recorder.cancelled(state, work);
      return;
    }
    if (outcome.kind === 'done' && worker.lastStepFailed) this.#recorder.recovered(state, work);
    worker.lastStepFailed = outcome.kind === 'retry';
    if (outcome.kind === 'retry') {
      const delayMs = this.#requeue(worker, false, outcome);
      this.#recorder.failed(state, work, outcome.error, this.#options.clock.now() + delayMs);
    } else if (state === 'terminated') {
      worker.state = afterStep(worker.state, 'resourcesReleased', this.#options.clock.monotonic());
      this.#finish(worker, work, 'pod is finished', 'all of its resources are released');
      return;
    } else if (state === 'terminating' && work.kind === 'runtimePod') {
      this.#close(worker);
      this.#workers.delete(worker.uid);
    } else {
      const hasMoved = state === 'terminating' || outcome.terminal;
      if (state === 'terminating') this.#containersStopped(worker, work);
      else if (outcome.terminal) this.#reachedEnd(worker, work);
      this.#requeue(worker, hasMoved, outcome);
    }
    this.#recorder.done(typeOf(work), work.startMs);
  }

  #containersStopped(worker: Worker, work: PodWork): void {
    const waiting = worker.state.kind === 'terminating' ? worker.state.onTerminated : [];
    worker.state = afterStep(worker.state, 'containersStopped', this.#options.clock.monotonic());
    for (const notify of waiting) notify();
    this.#recorder.terminated(work);
    this.#replay(worker);
  }

  #reachedEnd(worker: Worker, work: PodWork): void {
    worker.state = afterStep(worker.state, 'reachedEnd', this.#options.clock.monotonic());
    const pod = podOf(work);
    this.#recorder.terminating(pod && podRef(pod), 'it reached its final phase');
    this.#replay(worker);
  }

  #finish(worker: Worker, work: PodWork, message: string, because: string): void {
    this.#close(worker);
    this.#recorder.finished(work, message, because);
    const ref = refOf(work.kind === 'pod' ? work.pod : work.runtimePod);
    for (const listener of this.#finishListeners) listener(worker.uid, ref);
  }

  /** Has the last work done again in the pod's new state, unless something newer waits. */
  #replay(worker: Worker): void {
    const { pending, active } = worker;
    if (pending !== undefined || active === undefined) return;
    worker.pending = active.kind === 'pod' ? { ...active, type: 'sync', startMs: undefined } : active;
    this.#wake(worker);
  }

  /** Returns how long until the pod's next sync, if nothing happens before. */
  #requeue(worker: Worker, phaseTransition: boolean, outcome: RequeueInput['outcome']): number {
    const { queue, resyncMs, errorBackoffMs, networkBackoffMs, clock, random } = this.#options;
    const delayMs = requeueDelayMs({
      phaseTransition,
      outcome,
      resyncMs,
      errorBackoffMs,
      networkBackoffMs,
      nowMs: clock.now(),
      random,
    });
    queue.enqueue(worker.uid, delayMs);
    return delayMs;
  }

  /** Ends the worker and gives the turn of its full name to the next. */
  #close(worker: Worker): void {
    worker.pending = undefined;
    worker.cancellation = undefined;
    for (const waiting of this.#turns.release(worker.fullName, worker.uid))
      this.#options.queue.enqueue(waiting, 0);
  }

  /** Forgets the pod if nothing of it is left to do; else makes sure that it comes to that. */
  #retire(worker: Worker, orphan: boolean): boolean {
    const activePod = podOf(worker.active);
    const retirement = retire(worker.state, {
      orphan,
      activePod,
      nowMs: this.#options.clock.monotonic(),
    });
    switch (retirement.kind) {
      case 'keep':
        return false;
      case 'end':
        worker.state = retirement.state;
        if (retirement.began) {
          this.#recorder.terminating(activePod && podRef(activePod), 'it is no longer configured');
        }
        this.#replay(worker);
        return false;
      case 'forget':
        this.#close(worker);
        this.#workers.delete(worker.uid);
        this.#options.queue.forget(worker.uid);
        return true;
    }
  }
}
