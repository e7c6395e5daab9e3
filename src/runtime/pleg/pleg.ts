/** The pod lifecycle event generator: looks at the runtime, keeps the cache fresh and tells what changed. */
import {
  Channel,
  type Clock,
  Gate,
  isCancelled,
  select,
  TaskGroup,
  type Timer,
  throwIfCancelled,
} from '../../async/index.js';
import type { ObservedPod, ObservedPodStatus } from '../../cri/index.js';
import { formatDuration } from '../../kube/index.js';
import type { Timeline } from '../../timeline/index.js';
import { PodCache } from './cache.js';
import { comparePods, type PodLifecycleEvent } from './compare.js';
import { keepIps } from './kept-ips.js';
import { type PodRecord, PodRecords } from './records.js';
import { type RelistRequest, RelistRequests } from './relist-requests.js';
import { RelistSchedule } from './relist-schedule.js';
import { type EventSourceFactory, type RuntimeEvent, RuntimeEvents } from './runtime-events.js';

/** What the PLEG asks of the runtime manager. */
export interface PlegRuntime {
  listPods(): Promise<readonly ObservedPod[]>;
  listPod(uid: string): Promise<ObservedPod | undefined>;
  podStatus(uid: string, name: string, namespace: string): Promise<ObservedPodStatus>;
}

export interface PlegObserver {
  relisted(durationMs: number, sinceLastMs: number | undefined): void;
  podRelisted(durationMs: number): void;
  discarded(): void;
  observed(pods: readonly ObservedPod[]): void;
}

export interface PlegOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly runtime: PlegRuntime;
  readonly observer?: PlegObserver;
  /** Streams of runtime events to try in order; with none the runtime is only polled. */
  readonly eventSources?: readonly EventSourceFactory[];
  /** From the end of one look at everything to the start of the next; default 1 s. */
  readonly relistPeriodMs?: number;
  /** The period while runtime events are followed; default 10 s. */
  readonly relaxedRelistPeriodMs?: number;
  /** Default 3 min. */
  readonly unhealthyAfterMs?: number;
}

const channelCapacity = 1000;
const requestCapacity = 200;
/** How many pods are inspected at a time. */
const inspections = 8;
/** A worker that waits for a newer status has its pod looked at this often. */
const impatientMs = 1_000;
/** A runtime tells of an exit a little before it lists the container as exited. */
const lookAgainAfterEventMs: readonly number[] = [5, 20, 80, 300];

export class Pleg {
  readonly cache = new PodCache();
  readonly events = new Channel<PodLifecycleEvent>(channelCapacity);
  readonly #options: Required<Omit<PlegOptions, 'observer'>> & Pick<PlegOptions, 'observer'>;
  readonly #records: PodRecords;
  readonly #requests: RelistRequests;
  readonly #schedule: RelistSchedule;
  readonly #runtimeEvents: RuntimeEvents;
  readonly #reinspect = new Set<string>();
  /** Ids in runtime events that belong to no known pod, until they do or everything was looked at. */
  readonly #strangers = new Set<string>();
  readonly #work = new Channel<void>(1);
  readonly #inspecting = new Gate(inspections);
  #lastRelistMs: number | undefined;
  /** The place of the last successful look at everything in the order of requests. */
  #lastRelistOrder = 0;
  #relistProblem = '';

  constructor(options: PlegOptions) {
    this.#options = {
      eventSources: [],
      relistPeriodMs: 1_000,
      relaxedRelistPeriodMs: 10_000,
      unhealthyAfterMs: 180_000,
      ...options,
    };
    const { clock, timeline } = options;
    const wake = (): void => void this.#work.trySend();
    this.#records = new PodRecords({
      onNewId: (id, uid) => {
        // Its event came before it was seen, so that what was seen may be older than the event.
        if (this.#strangers.delete(id)) this.#requests.add(uid, lookAgainAfterEventMs);
        if (this.#strangers.size === 0) this.#schedule.forgo('strangers');
      },
    });
    this.#requests = new RelistRequests({
      clock,
      capacity: requestCapacity,
      onRequest: wake,
      onOverflow: () => this.relistSoon(),
    });
    this.#schedule = new RelistSchedule(clock, wake);
    this.#runtimeEvents = new RuntimeEvents({
      clock,
      timeline,
      sources: this.#options.eventSources,
      onEvent: (event) => this.#onRuntimeEvent(event),
      onHealthChange: () => this.relistSoon(),
    });
  }

  /** The text of what is wrong, or undefined. */
  health(): string | undefined {
    if (this.#lastRelistMs === undefined) return 'pleg has yet to be successful';
    const ageMs = this.#options.clock.monotonic() - this.#lastRelistMs;
    const { unhealthyAfterMs } = this.#options;
    if (ageMs <= unhealthyAfterMs) return undefined;
    return `pleg was last seen active ${formatDuration(Math.round(ageMs))} ago; threshold is ${formatDuration(unhealthyAfterMs)}`;
  }

  /** Monotonic milliseconds at which the last successful look at everything began. */
  get lastRelistMs(): number | undefined {
    return this.#lastRelistMs;
  }

  /** Whether changes are told by the runtime, so that relisting is only the safety net. */
  get followsEvents(): boolean {
    return this.#runtimeEvents.healthy;
  }

  /** The pods as the runtime last listed them. */
  observedPods(): readonly ObservedPod[] {
    const pods: ObservedPod[] = [];
    for (const { current } of this.#records.values()) if (current !== undefined) pods.push(current);
    return pods;
  }

  /** Looks at one pod as soon as possible, and wakes who waits for it even if nothing changed. */
  requestRelist(uid: string): void {
    this.#requests.add(uid);
  }

  /** Inspects the pod as soon as possible even if nothing seems to have changed, and tells at least one event. */
  requestReinspect(uid: string): void {
    this.#reinspect.add(uid);
    this.requestRelist(uid);
  }

  /** Looks at everything as soon as possible. */
  relistSoon(): void {
    this.#schedule.want('asked', 0);
  }

  /** The pod's first observation after the given moment; has the pod looked at unless there is one already. */
  async statusNewerThan(uid: string, afterMs: number, signal?: AbortSignal): Promise<ObservedPodStatus> {
    if (this.cache.isNewer(uid, afterMs)) return this.cache.newerThan(uid, afterMs, signal);
    let timer: Timer | undefined;
    const ask = (): void => {
      this.requestRelist(uid);
      timer = this.#options.clock.setTimer(impatientMs, ask);
    };
    ask();
    try {
      return await this.cache.newerThan(uid, afterMs, signal);
    } finally {
      timer?.cancel();
    }
  }

  /** Runs until stopped; the first look is immediate. */
  async run(signal: AbortSignal): Promise<void> {
    const tasks = new TaskGroup({
      signal,
      onError: (task, error) =>
        this.#options.timeline.record({ kind: 'problem', what: 'pleg', message: `${task} failed`, error }),
    });
    tasks.start('following runtime events', (stop) => this.#runtimeEvents.run(stop));
    this.#schedule.start();
    try {
      for (;;) {
        throwIfCancelled(signal);
        if (this.#schedule.isDue) await this.relist();
        else if (this.#requests.size > 0) await this.#relistRequested();
        else {
          await select([this.#work], signal);
          this.#work.tryReceive();
        }
      }
    } finally {
      this.#schedule.stop();
      this.#requests.stop();
      await tasks.stop();
    }
  }

  /** Looks at everything. A failed listing changes nothing. */
  async relist(): Promise<void> {
    const { clock, runtime, observer, relistPeriodMs } = this.#options;
    this.#schedule.began();
    this.#strangers.clear();
    const order = this.#requests.nextOrder();
    const startMs = clock.monotonic();
    const sinceLastMs = this.#lastRelistMs === undefined ? undefined : startMs - this.#lastRelistMs;
    let periodMs = relistPeriodMs;
    try {
      const pods = await runtime.listPods();
      this.#records.seeAll(pods);
      observer?.observed(pods);
      await this.#reconcileAll();
      // Only now, so that whoever is let through by it finds a filled cache.
      this.#lastRelistMs = startMs;
      this.#lastRelistOrder = order;
      this.cache.setGlobal(startMs);
      periodMs = this.#periodMs();
      this.#noteRelist(undefined);
    } catch (error) {
      if (isCancelled(error)) throw error;
      this.#noteRelist(error);
    } finally {
      this.#schedule.ended(periodMs);
      observer?.relisted(clock.monotonic() - startMs, sinceLastMs);
    }
  }

  #periodMs(): number {
    const { relistPeriodMs, relaxedRelistPeriodMs } = this.#options;
    return this.#runtimeEvents.healthy ? relaxedRelistPeriodMs : relistPeriodMs;
  }

  /** Looks at everything before long, yet not more often than without runtime events. */
  #relistBeforeLong(reason: 'strangers' | 'failure'): void {
    this.#schedule.want(reason, this.#options.relistPeriodMs);
  }

  #onRuntimeEvent({ podUid, id }: RuntimeEvent): void {
    const uid = podUid ?? this.#records.podOf(id);
    if (uid !== undefined) {
      this.#requests.add(uid, lookAgainAfterEventMs);
      return;
    }
    if (this.#strangers.size < requestCapacity) this.#strangers.add(id);
    this.#relistBeforeLong('strangers');
  }

  async #reconcileAll(): Promise<void> {
    const changed: Promise<void>[] = [];
    for (const record of this.#records.values()) {
      const events = comparePods(record.uid, record.old, record.current);
      if (events.length > 0 || this.#reinspect.has(record.uid)) {
        changed.push(this.#inspecting.run(() => this.#reconcile(record, events)));
      } else this.#records.keep(record);
    }
    await Promise.all(changed);
    for (const uid of this.#reinspect) if (this.#records.get(uid) === undefined) this.#reinspect.delete(uid);
  }

  async #relistRequested(): Promise<void> {
    await Promise.all(
      this.#requests
        .take()
        .filter(({ order }) => order > this.#lastRelistOrder)
        .map((request) => this.#inspecting.run(() => this.#relistOne(request))),
    );
  }

  async #relistOne(request: RelistRequest): Promise<void> {
    const { uid } = request;
    const { clock, runtime, observer, timeline } = this.#options;
    const startMs = clock.monotonic();
    try {
      const pod = await runtime.listPod(uid);
      // A pod of which nothing is known and nothing is there has been observed, too.
      if (pod !== undefined || this.#records.get(uid) !== undefined) {
        const record = this.#records.see(uid, pod);
        const events = comparePods(uid, record.old, pod);
        if (events.length > 0 || this.#reinspect.has(uid)) await this.#reconcile(record, events);
        else {
          this.#records.keep(record);
          this.#requests.lookAgain(request);
        }
      }
      this.cache.setObserved(uid, pod?.observedAtMs ?? startMs);
    } catch (error) {
      if (isCancelled(error)) throw error;
      timeline.record({
        kind: 'problem',
        what: 'pleg.relist',
        message: `looking at pod ${uid} failed; the next relist will see it`,
        level: 'debug',
        error,
      });
      this.#relistBeforeLong('failure');
    } finally {
      observer?.podRelisted(clock.monotonic() - startMs);
    }
  }

  /** Inspects a pod that changed; only if that works its events are told, so that a failure is tried again. */
  async #reconcile(record: PodRecord, events: PodLifecycleEvent[]): Promise<void> {
    const { uid, current } = record;
    this.#reinspect.delete(uid);
    if (current === undefined) this.cache.delete(uid);
    else {
      const inspected = await this.#inspect(current);
      this.cache.set(uid, inspected, current.observedAtMs);
      if ('error' in inspected) {
        this.#reinspect.add(uid);
        this.#relistBeforeLong('failure');
        return;
      }
    }
    this.#records.advance(record);
    for (const event of events.length === 0 ? [{ uid, type: 'PodSync' as const, id: uid }] : events) {
      if (event.type === 'ContainerChanged') continue;
      if (!this.events.trySend(event)) this.#options.observer?.discarded();
    }
  }

  async #inspect(pod: ObservedPod): Promise<{ status: ObservedPodStatus } | { error: Error }> {
    try {
      const status = await this.#options.runtime.podStatus(pod.uid, pod.name, pod.namespace);
      return { status: keepIps(status, this.cache.peek(pod.uid)) };
    } catch (error) {
      return { error: error instanceof Error ? error : new Error(String(error)) };
    }
  }

  /** Records the first of a row of failures, and its end. */
  #noteRelist(error: unknown): void {
    const problem = error === undefined ? '' : error instanceof Error ? error.message : String(error);
    if (problem === this.#relistProblem) return;
    this.#relistProblem = problem;
    this.#options.timeline.record(
      error === undefined
        ? { kind: 'notice', what: 'pleg.relist', message: 'listing the pods of the runtime works again' }
        : {
            kind: 'problem',
            what: 'pleg.relist',
            message: 'listing the pods of the runtime failed',
            because: 'the pods are looked at every so often',
            level: 'warn',
            error,
          },
    );
  }
}
