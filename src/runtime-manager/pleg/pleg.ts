/** The pod lifecycle event generator: relists the runtime, updates the cache and emits what changed. */
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
import { createPlegMetrics, type PlegMetrics } from '../metrics.js';
import { PodCache } from './cache.js';
import type { PodLifecycleEvent } from './compare.js';
import type { RuntimeEvent, RuntimeEventSourceFactory } from './event-sources.js';
import { Inspections } from './inspections.js';
import type { PlegRuntime } from './ports.js';
import { PodRecords } from './records.js';
import type { PodRelistReason } from './relist-decision.js';
import { RelistRequests } from './relist-requests.js';
import { RelistSchedule } from './relist-schedule.js';
import { Relister } from './relister.js';
import { RuntimeEvents } from './runtime-events.js';
import { UnconfirmedEvents } from './unconfirmed-events.js';

export interface PlegOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly runtime: PlegRuntime;
  /** Default: metrics that nobody reads. */
  readonly metrics?: PlegMetrics;
  /** Runtime event streams to try in order. With none, the PLEG only polls. */
  readonly eventSources?: readonly RuntimeEventSourceFactory[];
  /** Called when the runtime event stream connects or breaks: the runtime may have come or gone. */
  readonly onEventsChanged?: () => void;
  /** Whether the agent itself removed this container or sandbox; default never. */
  readonly isOwnRemoval?: (id: string) => boolean;
  /** From the end of one relist to the start of the next; default 1 s. */
  readonly relistPeriodMs?: number;
  /** The relist period while the runtime event stream is up; default 10 s. */
  readonly relaxedRelistPeriodMs?: number;
  /** Default 3 min. */
  readonly unhealthyAfterMs?: number;
}

const channelCapacity = 1000;
const requestCapacity = 200;
const awaitedCapacity = 1000;
/** From this many unconfirmed events on, one relist covers all removals. */
const manyAwaited = 8;
/** How many pod relists run in parallel. */
const parallelLists = 8;
/** Relist periods to wait before relisting for changes that the agent probably made itself. */
const patientPeriods = 5;
/** How often a pod is relisted while a worker waits for a newer status. */
const impatientMs = 1_000;

type PlegDefaults = Required<
  Pick<PlegOptions, 'eventSources' | 'relistPeriodMs' | 'relaxedRelistPeriodMs' | 'unhealthyAfterMs'>
>;

const defaults: PlegDefaults = {
  eventSources: [],
  relistPeriodMs: 1_000,
  relaxedRelistPeriodMs: 10_000,
  unhealthyAfterMs: 180_000,
};

export class Pleg {
  readonly cache = new PodCache();
  readonly events = new Channel<PodLifecycleEvent>(channelCapacity);
  readonly #options: PlegOptions & PlegDefaults & { readonly metrics: PlegMetrics };
  readonly #records = new PodRecords();
  readonly #requests: RelistRequests;
  readonly #schedule: RelistSchedule;
  readonly #awaited: UnconfirmedEvents;
  readonly #inspections: Inspections;
  readonly #relister: Relister;
  readonly #runtimeEvents: RuntimeEvents;
  readonly #work = new Channel<void>(1);
  readonly #listing = new Gate(parallelLists);

  constructor(options: PlegOptions) {
    this.#options = { ...defaults, ...options, metrics: options.metrics ?? createPlegMetrics() };
    const { clock, timeline, runtime, metrics, eventSources, relistPeriodMs } = this.#options;
    const nextOrder = (): number => this.#requests.nextOrder();
    const wake = (): void => void this.#work.trySend();
    this.#schedule = new RelistSchedule(clock, wake);
    this.#requests = new RelistRequests({
      capacity: requestCapacity,
      onRequest: wake,
      onOverflow: () => this.relistSoon(),
    });
    this.#awaited = new UnconfirmedEvents({
      clock,
      capacity: awaitedCapacity,
      maxDelayMs: relistPeriodMs,
      nextOrder,
      podOf: (id) => this.#records.podOf(id),
      relistPod: (uid, { id, kind }) => {
        if (kind === 'delete' && this.#isAwaitingMany) {
          this.#schedule.want('removals', 0);
          return;
        }
        // A removed container cannot be inspected, and where one id is unknown others may be, too.
        const isReadable = kind !== 'delete' && this.#records.podOf(id) === uid;
        this.#requests.add(uid, isReadable ? 'own' : 'any');
      },
      unknownPods: (strangers) => {
        if (strangers === 'ends') this.#schedule.want('strangers', relistPeriodMs);
        else this.#schedule.forgo('strangers');
        if (strangers === 'none') this.#schedule.forgo('starts');
        else
          this.#schedule.want('starts', relistPeriodMs * (runtime.isStarting === true ? patientPeriods : 1));
      },
      onOverflow: () => this.#schedule.want('overflow', relistPeriodMs),
    });
    this.#inspections = new Inspections({
      clock,
      timeline,
      runtime,
      records: this.#records,
      cache: this.cache,
      deliver: (event) => {
        if (!this.events.trySend(event)) metrics.discardedEvents.inc();
      },
      onFailure: () => this.#schedule.want('failure', relistPeriodMs),
    });
    this.#relister = new Relister({
      clock,
      timeline,
      runtime,
      metrics,
      records: this.#records,
      cache: this.cache,
      awaited: this.#awaited,
      inspections: this.#inspections,
      nextOrder,
    });
    this.#runtimeEvents = new RuntimeEvents({
      clock,
      timeline,
      sources: eventSources,
      metrics,
      onEvent: (event) => this.#onRuntimeEvent(event),
      onHealthChange: () => {
        this.relistSoon();
        options.onEventsChanged?.();
      },
    });
  }

  /** Describes what is wrong; undefined when healthy. */
  health(): string | undefined {
    const last = this.#relister.lastRelist;
    if (last === undefined) return 'pleg has yet to be successful';
    const { clock, metrics, unhealthyAfterMs } = this.#options;
    metrics.lastSeen.set(Math.floor(last.startWallMs / 1000));
    const ageMs = clock.monotonic() - last.startMs;
    if (ageMs <= unhealthyAfterMs) return undefined;
    return `pleg was last seen active ${formatDuration(Math.round(ageMs))} ago; threshold is ${formatDuration(unhealthyAfterMs)}`;
  }

  /** Whether the runtime event stream is up, so that relisting is only the safety net. */
  get followsEvents(): boolean {
    return this.#runtimeEvents.healthy;
  }

  /** The pods as of the last relist. */
  observedPods(): readonly ObservedPod[] {
    const pods: ObservedPod[] = [];
    for (const { current } of this.#records.values()) if (current !== undefined) pods.push(current);
    return pods;
  }

  /** Relists one pod as soon as possible and wakes its waiters even if nothing changed. */
  requestRelist(uid: string): void {
    this.#requests.add(uid, 'any');
  }

  /** As `requestRelist`, for a pod the agent has just worked on: the ids of what it created are known. */
  requestPodRelist(uid: string): void {
    this.#requests.add(uid, 'own');
  }

  /** Inspects the pod as soon as possible even if it looks unchanged, and emits at least one event. */
  requestReinspect(uid: string): void {
    this.reinspectNext(uid);
    this.requestRelist(uid);
  }

  /** As `requestReinspect`, at the pod's next relist, which somebody else asks for. */
  reinspectNext(uid: string): void {
    this.#inspections.requestReinspect(uid, this.#requests.nextOrder());
  }

  /** Relists all pods as soon as possible. */
  relistSoon(): void {
    this.#schedule.want('asked', 0);
  }

  /** Resolves with the pod's first observation after the given time; relists the pod unless it has one. */
  async statusNewerThan(uid: string, afterMs: number, signal?: AbortSignal): Promise<ObservedPodStatus> {
    if (this.cache.isNewer(uid, afterMs)) return this.cache.newerThan(uid, afterMs, signal);
    let timer: Timer | undefined;
    const ask = (reason: PodRelistReason): void => {
      this.#requests.add(uid, reason);
      timer = this.#options.clock.setTimer(impatientMs, () => ask('any'));
    };
    ask('own');
    try {
      return await this.cache.newerThan(uid, afterMs, signal);
    } finally {
      timer?.cancel();
    }
  }

  /** Runs until stopped; the first relist is immediate. */
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
        // Relists run one at a time, so that a later one never shows an older state.
        if (this.#schedule.isDue) await this.#relist();
        else if (this.#requests.size > 0) await this.#lookAtRequested();
        else {
          await select([this.#work], signal);
          this.#work.tryReceive();
        }
      }
    } finally {
      this.#schedule.stop();
      await Promise.all([tasks.stop(), this.#relister.stop(), this.#inspections.stop()]);
      this.#awaited.stop();
    }
  }

  /** Relists all pods and inspects those that changed. */
  async relist(): Promise<void> {
    await this.#relist();
    await this.#inspections.drained();
  }

  get #isAwaitingMany(): boolean {
    return this.#awaited.size >= manyAwaited;
  }

  #onRuntimeEvent({ id, kind, podUid, lagMs }: RuntimeEvent): void {
    switch (kind) {
      case 'create':
        // A created container needs no action; its start is reported separately.
        return;
      case 'exit': {
        const uid = podUid ?? this.#records.podOf(id);
        // The agent is stopping this pod: nothing to act on, and the stop relists the pod when it is done.
        const { runtime, relistPeriodMs } = this.#options;
        const isOwn = uid !== undefined && runtime.isEnding?.(uid) === true;
        const ownMs = relistPeriodMs * (runtime.podsWait === true ? patientPeriods : 1);
        this.#awaited.expect(id, kind, podUid, isOwn ? ownMs : lagMs);
        return;
      }
      case 'delete':
        if (this.#options.isOwnRemoval?.(id) === true) {
          this.#schedule.want('own removals', this.#options.relistPeriodMs * patientPeriods);
          return;
        }
        // With many removals pending, mostly our own, one relist confirms them all.
        this.#awaited.expect(id, kind, podUid, this.#isAwaitingMany ? this.#options.relistPeriodMs : lagMs);
        return;
      case 'start':
        this.#awaited.expect(id, kind, podUid, lagMs);
        return;
      case 'oom': {
        // The OOM kill is the reason of an exit; a status read before this event may lack it.
        const uid = podUid ?? this.#records.podOf(id) ?? '';
        const exited = this.#records
          .get(uid)
          ?.current?.containers.some((c) => c.id === id && c.state === 'exited');
        if (exited === true) this.requestReinspect(uid);
        return;
      }
    }
  }

  async #relist(): Promise<void> {
    const { relistPeriodMs, relaxedRelistPeriodMs } = this.#options;
    this.#schedule.began();
    let periodMs = relistPeriodMs;
    try {
      if ((await this.#relister.atAll()) && this.followsEvents) periodMs = relaxedRelistPeriodMs;
    } finally {
      this.#schedule.ended(periodMs);
    }
  }

  async #lookAtRequested(): Promise<void> {
    const requests = this.#requests
      .take()
      .filter(({ order }) => order > (this.#relister.lastRelist?.order ?? 0));
    await Promise.all(requests.map(({ uid, reason }) => this.#listing.run(() => this.#lookAt(uid, reason))));
  }

  async #lookAt(uid: string, reason: PodRelistReason): Promise<void> {
    try {
      await this.#relister.at(uid, reason);
    } catch (error) {
      if (isCancelled(error)) throw error;
      this.#options.timeline.record({
        kind: 'problem',
        what: 'pleg.relist',
        message: `relisting pod ${uid} failed; the next relist will see it`,
        level: 'debug',
        data: { podUid: uid },
        error,
      });
      this.#schedule.want('failure', this.#options.relistPeriodMs);
    }
  }
}
