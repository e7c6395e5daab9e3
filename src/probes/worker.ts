/** Drives one probe of one container: one timer, one run at a time. */
import { type Clock, isCancelled, type TaskGroup, type Timer } from '../async/index.js';
import type { PodStatus } from '../kube/index.js';
import { podRef, type Timeline } from '../timeline/index.js';
import type { ProbeRun } from './contracts.js';
import type { ProbeCounts } from './metrics.js';
import type { ProbeConclusion } from './prober.js';
import type { ResultStore } from './results.js';
import { nextTick } from './ticker.js';
import {
  initialState,
  nextStep,
  type ProbeStep,
  takeResult,
  type WorkerFacts,
  type WorkerState,
} from './worker-step.js';

export interface WorkerOptions {
  readonly facts: WorkerFacts;
  readonly clock: Clock;
  readonly timeline: Timeline;
  /** Owns the probe runs. */
  readonly tasks: TaskGroup;
  readonly results: ResultStore;
  readonly statusOf: (podUid: string) => PodStatus | undefined;
  readonly probe: (run: ProbeRun, signal: AbortSignal) => Promise<ProbeConclusion | undefined>;
  readonly counts: ProbeCounts;
  /** Called once, when the worker exits by itself or by `stop`. */
  readonly onExit: () => void;
}

/**
 * sleeping: before its first tick; waiting: between two ticks; busy: decides, probes or waits for the sync
 * loop to take its result; ended: never ticks again.
 */
type ProbeWorkerPhase = 'sleeping' | 'waiting' | 'busy' | 'ended';

export class ProbeWorker {
  readonly podUid: string;
  readonly #options: WorkerOptions;
  readonly #periodMs: number;
  #phase: ProbeWorkerPhase = 'sleeping';
  #state: WorkerState = initialState;
  #timer: Timer | undefined;
  #tickMs = 0;
  #isTriggered = false;
  #isStopped = false;

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.podUid = options.facts.pod.metadata.uid;
    this.#periodMs = options.facts.settings.periodMs;
  }

  start(delayMs: number): void {
    const { clock } = this.#options;
    this.#timer = clock.setTimer(delayMs, () => {
      this.#tickMs = clock.monotonic() + this.#periodMs;
      this.#look();
    });
  }

  /** Ticks at once, or after the current run. */
  trigger(): void {
    if (this.#phase !== 'waiting') {
      this.#isTriggered = true;
      return;
    }
    this.#timer?.cancel();
    this.#startOver();
  }

  /** Stops between two ticks: a running probe finishes and its result counts. */
  stop(): void {
    this.#isStopped = true;
    if (this.#phase === 'sleeping' || this.#phase === 'waiting') this.#exit();
  }

  /** Stops with the agent: reports and cleans up nothing. */
  abandon(): void {
    this.#phase = 'ended';
    this.#timer?.cancel();
  }

  #look(): void {
    if (this.#phase === 'ended') return;
    const { facts, clock, statusOf, tasks } = this.#options;
    const status = statusOf(this.podUid);
    const now = { wallMs: clock.now(), monotonicMs: clock.monotonic() };
    const step = nextStep(facts, this.#state, status, now);
    this.#phase = 'busy';
    this.#state = step.state;
    // Most ticks do nothing; only a run or a stored result needs a task.
    if (step.next === 'probe' || step.store !== undefined) {
      tasks.start(`${facts.kind} probe`, (signal) => this.#work(step, status, signal));
      return;
    }
    if (step.forget !== undefined) this.#options.results.remove(step.forget);
    this.#goOn(step.next === 'exit');
  }

  async #work(step: ProbeStep, status: PodStatus | undefined, signal: AbortSignal): Promise<void> {
    const { facts, results, timeline } = this.#options;
    try {
      if (step.forget !== undefined) results.remove(step.forget);
      if (step.store !== undefined) await this.#store(step.store.result, step.store.because, signal);
      if (step.next === 'probe' && status !== undefined) await this.#probe(status, signal);
    } catch (error) {
      if (isCancelled(error) || signal.aborted) throw error;
      timeline.record({
        kind: 'problem',
        what: 'probe.crash',
        message: `a ${facts.kind} probe crashed; retrying`,
        pod: podRef(facts.pod),
        container: facts.container.name,
        error,
      });
    }
    this.#goOn(step.next === 'exit');
  }

  async #probe(status: PodStatus, signal: AbortSignal): Promise<void> {
    const { facts, clock, probe, counts } = this.#options;
    const { kind, pod, container } = facts;
    const { containerId } = this.#state;
    const startMs = clock.monotonic();
    const verdict = await probe({ kind, pod, status, container, containerId }, signal);
    if (verdict === undefined) return;
    counts.count(verdict.result, clock.monotonic() - startMs);
    const taken = takeResult(facts, this.#state, verdict.result);
    this.#state = taken.state;
    if (taken.store !== undefined) await this.#store(taken.store, reasonOf(verdict), signal);
  }

  async #store(
    result: 'success' | 'failure' | 'unknown',
    because: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { facts, results, timeline } = this.#options;
    const { containerId } = this.#state;
    const before = results.get(containerId);
    const told = results.set({ podUid: this.podUid, containerId, result }, signal);
    if (told === undefined) return;
    timeline.record({
      kind: 'transition',
      what: `probe.${facts.kind}`,
      message: `${facts.kind} ${before ?? 'none'} → ${result}`,
      because,
      pod: podRef(facts.pod),
      container: facts.container.name,
      data: { from: before ?? 'none', to: result, containerId },
      level: before === undefined ? 'debug' : 'info',
    });
    await told;
  }

  #goOn(isOver: boolean): void {
    if (this.#phase === 'ended') return;
    if (isOver || this.#isStopped) {
      this.#exit();
      return;
    }
    this.#phase = 'waiting';
    if (this.#isTriggered) {
      this.#startOver();
      return;
    }
    const { delayMs, followingMs } = nextTick(this.#tickMs, this.#periodMs, this.#options.clock.monotonic());
    this.#tickMs = followingMs;
    this.#timer = this.#options.clock.setTimer(delayMs, () => this.#look());
  }

  /** Ticks at once and restarts the period. */
  #startOver(): void {
    const { clock } = this.#options;
    this.#isTriggered = false;
    this.#tickMs = clock.monotonic() + this.#periodMs;
    this.#timer = clock.setTimer(0, () => this.#look());
  }

  #exit(): void {
    const { results, counts, onExit } = this.#options;
    this.abandon();
    if (this.#state.containerId !== '') results.remove(this.#state.containerId);
    counts.forget();
    onExit();
  }
}

/** A probe's output may be long; its beginning shows the cause. A healthy container's output is not recorded. */
const maxReasonLength = 256;

function reasonOf({ result, output }: ProbeConclusion): string {
  if (result === 'success') return 'the probe succeeded';
  return output === '' ? 'the probe failed' : `the probe failed: ${output.slice(0, maxReasonLength)}`;
}
