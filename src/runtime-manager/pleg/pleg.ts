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
import type { PodLifecycleEvent } from './compare.js';
import type { EventSourceFactory, RuntimeEvent } from './event-sources.js';
import { Inspections } from './inspections.js';
import type { PlegObserver, PlegRuntime } from './ports.js';
import { PodRecords } from './records.js';
import type { LookReason } from './relist-decision.js';
import { RelistRequests } from './relist-requests.js';
import { RelistSchedule } from './relist-schedule.js';
import { Relister } from './relister.js';
import { RuntimeEvents } from './runtime-events.js';
import { UnconfirmedEvents } from './unconfirmed-events.js';

export interface PlegOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly runtime: PlegRuntime;
  readonly observer?: PlegObserver;
  /** Streams of runtime events to try in order; with none the runtime is only polled. */
  readonly eventSources?: readonly EventSourceFactory[];
  /** Told when the stream of runtime events stands or breaks, as that may be the runtime coming or going. */
  readonly onEventsChanged?: () => void;
  /** Whether the agent itself has had a container or sandbox removed; default never. */
  readonly isOwnRemoval?: (id: string) => boolean;
  /** From the end of one look at everything to the start of the next; default 1 s. */
  readonly relistPeriodMs?: number;
  /** The period while runtime events are followed; default 10 s. */
  readonly relaxedRelistPeriodMs?: number;
  /** Default 3 min. */
  readonly unhealthyAfterMs?: number;
}

const channelCapacity = 1000;
const requestCapacity = 200;
const awaitedCapacity = 1000;
/** With so many changes to look for, removals are not looked for one by one. */
const manyAwaited = 8;
/** How many pods are listed at a time. */
const parallelLists = 8;
/** Relist periods that may pass until a look at what is the agent's own doing, as the start of something unknown may be. */
const patientPeriods = 5;
/** A worker that waits for a newer status has its pod looked at this often. */
const impatientMs = 1_000;

type Defaults = Required<
  Pick<PlegOptions, 'eventSources' | 'relistPeriodMs' | 'relaxedRelistPeriodMs' | 'unhealthyAfterMs'>
>;

const defaults: Defaults = {
  eventSources: [],
  relistPeriodMs: 1_000,
  relaxedRelistPeriodMs: 10_000,
  unhealthyAfterMs: 180_000,
};

export class Pleg {
  readonly cache = new PodCache();
  readonly events = new Channel<PodLifecycleEvent>(channelCapacity);
  readonly #options: PlegOptions & Defaults;
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
    this.#options = { ...defaults, ...options };
    const { clock, timeline, runtime, observer, eventSources, relistPeriodMs } = this.#options;
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
      look: (uid, { id, kind }) => {
        if (kind === 'delete' && this.#isAwaitingMany) {
          this.#schedule.want('removals', 0);
          return;
        }
        // What is gone cannot be read, and an unknown id may not be the only one.
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
        if (!this.events.trySend(event)) observer?.discarded();
      },
      onFailure: () => this.#schedule.want('failure', relistPeriodMs),
    });
    this.#relister = new Relister({
      clock,
      timeline,
      runtime,
      observer,
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
      observer,
      onEvent: (event) => this.#onRuntimeEvent(event),
      onHealthChange: () => {
        this.relistSoon();
        options.onEventsChanged?.();
      },
    });
  }

  /** The text of what is wrong, or undefined. */
  health(): string | undefined {
    const last = this.#relister.lastRelist;
    if (last === undefined) return 'pleg has yet to be successful';
    const { clock, observer, unhealthyAfterMs } = this.#options;
    observer?.lastSeen(last.startWallMs);
    const ageMs = clock.monotonic() - last.startMs;
    if (ageMs <= unhealthyAfterMs) return undefined;
    return `pleg was last seen active ${formatDuration(Math.round(ageMs))} ago; threshold is ${formatDuration(unhealthyAfterMs)}`;
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
    this.#requests.add(uid, 'any');
  }

  /** The same for a pod that the agent has just worked on: what it made need not be searched for. */
  requestPodRelist(uid: string): void {
    this.#requests.add(uid, 'own');
  }

  /** Inspects the pod as soon as possible even if nothing seems to have changed, and tells at least one event. */
  requestReinspect(uid: string): void {
    this.#inspections.requestReinspect(uid);
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
    const ask = (reason: LookReason): void => {
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
        // Looks are one after another, so that a later one never shows less than an earlier one.
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

  /** Looks at everything and inspects what changed. */
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
        // A container that does not run yet is nothing to act upon; its start is told, too.
        return;
      case 'exit': {
        const uid = podUid ?? this.#records.podOf(id);
        // Nothing is to be done about an end that the agent itself brings about, and who does that looks afterwards.
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
        // Of many, which are mostly the agent's own, one look at everything shows all.
        this.#awaited.expect(id, kind, podUid, this.#isAwaitingMany ? this.#options.relistPeriodMs : lagMs);
        return;
      case 'start':
        this.#awaited.expect(id, kind, podUid, lagMs);
        return;
      case 'oom': {
        // It is the reason of an exit; one that was read already may lack it.
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

  async #lookAt(uid: string, reason: LookReason): Promise<void> {
    try {
      await this.#relister.at(uid, reason);
    } catch (error) {
      if (isCancelled(error)) throw error;
      this.#options.timeline.record({
        kind: 'problem',
        what: 'pleg.relist',
        message: `looking at pod ${uid} failed; the next relist will see it`,
        level: 'debug',
        data: { podUid: uid },
        error,
      });
      this.#schedule.want('failure', this.#options.relistPeriodMs);
    }
  }
}
