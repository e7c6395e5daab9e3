/** The pod lifecycle event generator: looks at the runtime, keeps the cache fresh and tells what changed. */
import {
  Channel,
  type Clock,
  Gate,
  isCancelled,
  select,
  sleep,
  TaskGroup,
  type Timer,
} from '../../async/index.js';
import type { ObservedPod, ObservedPodStatus } from '../../cri/index.js';
import { formatDuration } from '../../kube/index.js';
import type { Timeline } from '../../timeline/index.js';
import { PodCache } from './cache.js';
import { comparePods, type PodLifecycleEvent } from './compare.js';
import { type EventSourceFactory, RuntimeEvents } from './runtime-events.js';

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
  readonly relistPeriodMs?: number;
  /** The period while runtime events are followed. */
  readonly relaxedRelistPeriodMs?: number;
  readonly unhealthyAfterMs?: number;
}

const channelCapacity = 1000;
const requestCapacity = 200;
/** How many pods are inspected at a time. */
const inspections = 8;
/** A worker that waits this long for a newer status makes the PLEG look at its pod. */
const impatientMs = 1_000;

interface PodRecord {
  /** As of the last delivered events. */
  old: ObservedPod | undefined;
  /** As of the last look. */
  current: ObservedPod | undefined;
}

interface RelistRequest {
  readonly uid: string;
  readonly createdMs: number;
  /** Delays after which to look again while nothing is seen to have changed. */
  readonly lookAgainMs: readonly number[];
}

/** A runtime tells of an exit a little before it lists the container as exited. */
const lookAgainAfterEventMs: readonly number[] = [5, 20, 80, 300];

export class Pleg {
  readonly cache = new PodCache();
  readonly events = new Channel<PodLifecycleEvent>(channelCapacity);
  readonly #options: Required<Omit<PlegOptions, 'observer'>> & Pick<PlegOptions, 'observer'>;
  readonly #records = new Map<string, PodRecord>();
  readonly #reinspect = new Set<string>();
  readonly #requests = new Map<string, RelistRequest>();
  readonly #requested = new Channel<void>(1);
  readonly #due = new Channel<void>(1);
  readonly #inspecting = new Gate(inspections);
  readonly #runtimeEvents: RuntimeEvents;
  readonly #lookingAgain = new Map<string, Timer>();
  #lastRelistMs: number | undefined;
  #relistWanted = false;

  constructor(options: PlegOptions) {
    this.#options = {
      eventSources: [],
      relistPeriodMs: 1_000,
      relaxedRelistPeriodMs: 10_000,
      unhealthyAfterMs: 180_000,
      ...options,
    };
    this.#runtimeEvents = new RuntimeEvents({
      clock: options.clock,
      timeline: options.timeline,
      sources: this.#options.eventSources,
      onEvent: ({ podUid, id }) => {
        const uid = podUid ?? this.#podOf(id);
        if (uid === undefined) this.relistSoon();
        else this.#request(uid, lookAgainAfterEventMs);
      },
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

  /** Looks at one pod as soon as possible. */
  requestRelist(uid: string): void {
    this.#request(uid, this.#requests.get(uid)?.lookAgainMs ?? []);
  }

  #request(uid: string, lookAgainMs: readonly number[]): void {
    if (!this.#requests.has(uid) && this.#requests.size >= requestCapacity) {
      this.relistSoon();
      return;
    }
    this.#requests.set(uid, { uid, createdMs: this.#options.clock.monotonic(), lookAgainMs });
    this.#requested.trySend();
  }

  #lookAgain({ uid, lookAgainMs: [delayMs, ...rest] }: RelistRequest): void {
    if (delayMs === undefined || this.#lookingAgain.has(uid)) return;
    const timer = this.#options.clock.setTimer(delayMs, () => {
      this.#lookingAgain.delete(uid);
      this.#request(uid, rest);
    });
    this.#lookingAgain.set(uid, timer);
  }

  /** The next look at the pod inspects it even if nothing seems to have changed. */
  requestReinspect(uid: string): void {
    this.#reinspect.add(uid);
  }

  /** Looks at everything as soon as possible. */
  relistSoon(): void {
    this.#relistWanted = true;
    this.#due.trySend();
  }

  /** The pod's first observation after the given moment; looks at the pod when none comes by itself. */
  async statusNewerThan(uid: string, afterMs: number, signal: AbortSignal): Promise<ObservedPodStatus> {
    const timer = this.#options.clock.setTimer(impatientMs, () => this.requestRelist(uid));
    try {
      return await this.cache.newerThan(uid, afterMs, signal);
    } finally {
      timer.cancel();
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
    tasks.start('relist timer', (stop) => this.#tick(stop));
    try {
      await this.relist();
      for (;;) {
        await select([this.#due, this.#requested], signal);
        if (this.#due.tryReceive() !== undefined && this.#isRelistDue()) await this.relist();
        else if (this.#requested.tryReceive() !== undefined) await this.#relistRequested();
      }
    } finally {
      for (const timer of this.#lookingAgain.values()) timer.cancel();
      this.#lookingAgain.clear();
      await tasks.stop();
    }
  }

  async #tick(signal: AbortSignal): Promise<void> {
    for (;;) {
      await sleep(this.#options.clock, this.#options.relistPeriodMs, signal);
      if (this.#isRelistDue()) this.#due.trySend();
    }
  }

  #isRelistDue(): boolean {
    if (this.#relistWanted || this.#lastRelistMs === undefined) return true;
    const { clock, relistPeriodMs, relaxedRelistPeriodMs } = this.#options;
    const periodMs = this.#runtimeEvents.healthy ? relaxedRelistPeriodMs : relistPeriodMs;
    return clock.monotonic() - this.#lastRelistMs >= periodMs;
  }

  /** Looks at everything. A failed listing changes nothing. */
  async relist(): Promise<void> {
    const { clock, runtime, observer, timeline } = this.#options;
    this.#relistWanted = false;
    const startMs = clock.monotonic();
    const sinceLastMs = this.#lastRelistMs === undefined ? undefined : startMs - this.#lastRelistMs;
    try {
      const pods = await runtime.listPods();
      for (const record of this.#records.values()) record.current = undefined;
      for (const pod of pods) this.#recordOf(pod.uid).current = pod;
      observer?.observed(pods);
      await this.#reconcileAll();
      // Only now, so that whoever is let through by it finds a filled cache.
      this.#lastRelistMs = startMs;
      this.cache.setGlobal(startMs);
    } catch (error) {
      if (isCancelled(error)) throw error;
      timeline.record({
        kind: 'problem',
        what: 'pleg.relist',
        message: 'listing the pods of the runtime failed',
        level: 'warn',
        error,
      });
    } finally {
      observer?.relisted(clock.monotonic() - startMs, sinceLastMs);
    }
  }

  async #reconcileAll(): Promise<void> {
    const changed: Promise<void>[] = [];
    for (const [uid, record] of this.#records) {
      const events = comparePods(uid, record.old, record.current);
      if (events.length > 0 || this.#reinspect.has(uid)) {
        changed.push(this.#inspecting.run(() => this.#reconcile(uid, record, events)));
      } else if (record.current !== undefined) {
        record.old = record.current;
      } else {
        this.#records.delete(uid);
      }
    }
    await Promise.all(changed);
  }

  async #relistRequested(): Promise<void> {
    const requests = [...this.#requests.values()];
    this.#requests.clear();
    await Promise.all(
      requests.map((request) => {
        const isStale = this.#lastRelistMs !== undefined && request.createdMs <= this.#lastRelistMs;
        return isStale ? undefined : this.#inspecting.run(() => this.#relistOne(request));
      }),
    );
  }

  async #relistOne(request: RelistRequest): Promise<void> {
    const { uid } = request;
    const { clock, runtime, observer, timeline } = this.#options;
    const startMs = clock.monotonic();
    try {
      const pod = await runtime.listPod(uid);
      if (pod === undefined && !this.#records.has(uid)) {
        // Nothing is known and nothing is there: that, too, is an observation.
        this.cache.setObserved(uid, startMs);
        return;
      }
      const record = this.#recordOf(uid);
      record.current = pod;
      const events = comparePods(uid, record.old, pod);
      if (events.length > 0 || this.#reinspect.has(uid)) await this.#reconcile(uid, record, events);
      else {
        record.old = record.current;
        this.#lookAgain(request);
      }
      this.cache.setObserved(uid, startMs);
    } catch (error) {
      if (isCancelled(error)) throw error;
      timeline.record({
        kind: 'problem',
        what: 'pleg.relist',
        message: `looking at pod ${uid} failed; the next relist will see it`,
        level: 'debug',
        error,
      });
      this.#relistWanted = true;
    } finally {
      observer?.podRelisted(clock.monotonic() - startMs);
    }
  }

  /** Inspects a pod that changed; only if that works its events are told, so that a failure is tried again. */
  async #reconcile(uid: string, record: PodRecord, events: PodLifecycleEvent[]): Promise<void> {
    const { current } = record;
    this.#reinspect.delete(uid);
    if (current === undefined) {
      this.cache.delete(uid);
    } else {
      const inspected = await this.#inspect(current);
      this.cache.set(uid, inspected, current.observedAtMs);
      if ('error' in inspected) {
        this.#reinspect.add(uid);
        return;
      }
    }
    record.old = current;
    if (current === undefined && this.#records.get(uid) === record) this.#records.delete(uid);
    for (const event of events.length === 0 ? [{ uid, type: 'PodSync' as const, id: uid }] : events) {
      if (event.type === 'ContainerChanged') continue;
      if (!this.events.trySend(event)) this.#options.observer?.discarded();
    }
  }

  async #inspect({
    uid,
    name,
    namespace,
  }: ObservedPod): Promise<{ status: ObservedPodStatus } | { error: Error }> {
    try {
      const status = await this.#options.runtime.podStatus(uid, name, namespace);
      return { status: this.#withKeptIps(uid, status) };
    } catch (error) {
      return { error: error instanceof Error ? error : new Error(String(error)) };
    }
  }

  /** A pod whose sandbox has ended keeps the addresses that it had. */
  #withKeptIps(uid: string, status: ObservedPodStatus): ObservedPodStatus {
    if (status.ips.length > 0 || status.sandboxes.some((sandbox) => sandbox.ready)) return status;
    const cached = this.cache.peek(uid);
    return 'status' in cached && cached.status.ips.length > 0
      ? { ...status, ips: cached.status.ips }
      : status;
  }

  #recordOf(uid: string): PodRecord {
    const known = this.#records.get(uid);
    if (known !== undefined) return known;
    const created: PodRecord = { old: undefined, current: undefined };
    this.#records.set(uid, created);
    return created;
  }

  #podOf(id: string): string | undefined {
    for (const [uid, { current }] of this.#records) {
      if (current?.containers.some((one) => one.id === id) || current?.sandboxes.some((one) => one.id === id))
        return uid;
    }
    return undefined;
  }
}
