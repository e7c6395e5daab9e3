/** Relists one pod or all of them and passes on what it observed; inspections run separately. */
import { type Clock, isCancelled, TaskGroup, withTimeout } from '../../async/index.js';
import type { Timeline } from '../../timeline/index.js';
import { countObserved, type PlegMetrics } from '../metrics.js';
import type { PodCache } from './cache.js';
import type { Inspections } from './inspections.js';
import type { PlegRuntime, PodParts, ReadPod } from './ports.js';
import type { PodRecords } from './records.js';
import { decideRelist, type PodRelistReason } from './relist-decision.js';
import type { UnconfirmedEvents } from './unconfirmed-events.js';

export interface RelisterOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly runtime: Omit<PlegRuntime, 'podStatus'>;
  readonly metrics: PlegMetrics;
  readonly records: PodRecords;
  readonly cache: PodCache;
  readonly awaited: UnconfirmedEvents;
  readonly inspections: Inspections;
  /** A position in the order of all requests, relists and events. */
  readonly nextOrder: () => number;
}

export interface Relist {
  readonly order: number;
  readonly startMs: number;
  readonly startWallMs: number;
}

/** A relist blocks the next one, so a pod slower than this is listed and then inspected separately. */
const slowAfterMs = 1_000;
const nothing: PodParts = { sandboxIds: [], containers: [] };

export class Relister {
  readonly #options: RelisterOptions;
  readonly #tasks: TaskGroup;
  #lastRelist: Relist | undefined;
  #problem = '';

  constructor(options: RelisterOptions) {
    this.#options = options;
    this.#tasks = new TaskGroup({
      onError: (task, error) =>
        options.timeline.record({ kind: 'problem', what: 'pleg', message: `${task} failed`, error }),
    });
  }

  /** The last successful relist of all pods. */
  get lastRelist(): Relist | undefined {
    return this.#lastRelist;
  }

  /** Relists all pods; returns whether that worked. A failed list changes nothing. */
  async atAll(): Promise<boolean> {
    const { clock, runtime, metrics, nextOrder } = this.#options;
    const relist: Relist = { order: nextOrder(), startMs: clock.monotonic(), startWallMs: clock.now() };
    const last = this.#lastRelist;
    let inspected: readonly Promise<void>[] = [];
    try {
      const pods = await runtime.listPods();
      countObserved(metrics, pods);
      this.#options.records.seeAll(pods);
      inspected = this.#passOn(relist);
      this.#note(undefined);
      return true;
    } catch (error) {
      if (isCancelled(error)) throw error;
      this.#note(error);
      return false;
    } finally {
      this.#measure(inspected, () => {
        metrics.relistDuration.observe((clock.monotonic() - relist.startMs) / 1000);
        if (last !== undefined) metrics.relistInterval.observe((relist.startMs - last.startMs) / 1000);
      });
    }
  }

  /** Relists one pod; throws if it cannot be listed. */
  async at(uid: string, reason: PodRelistReason): Promise<void> {
    const { clock, runtime, metrics, records, cache, awaited, inspections, nextOrder } = this.#options;
    const order = nextOrder();
    const startMs = clock.monotonic();
    const inspected: Promise<void>[] = [];
    try {
      const created = runtime.byId?.unseen(uid) ?? nothing;
      const read = await this.#read(uid, reason, created);
      const pod = read === undefined ? await runtime.listPod(uid) : read.pod;
      runtime.byId?.seen(uid, created);
      // An unknown pod that does not exist counts as observed, too.
      if (pod !== undefined || records.get(uid) !== undefined) {
        const inspection = inspections.reconcile(records.see(uid, pod, read?.status, order));
        if (inspection !== undefined) inspected.push(inspection);
      }
      awaited.relisted(uid, pod, order);
      if (!inspections.isUnread(uid)) cache.setObserved(uid, pod?.observedAtMs ?? startMs);
    } finally {
      this.#measure(inspected, () => metrics.podRelistDuration.observe((clock.monotonic() - startMs) / 1000));
    }
  }

  stop(): Promise<void> {
    return this.#tasks.stop();
  }

  /** Reads the pod by its known ids; undefined when it has to be listed. */
  async #read(uid: string, reason: PodRelistReason, created: PodParts): Promise<ReadPod | undefined> {
    const { clock, runtime, records, timeline } = this.#options;
    const hasRelisted = this.#lastRelist !== undefined;
    const decision = decideRelist({ reason, hasRelisted, known: records.get(uid)?.current, created });
    if (decision.kind === 'list') return undefined;
    try {
      const { byId } = runtime;
      return await withTimeout(clock, slowAfterMs, this.#tasks.signal, async (signal) =>
        byId?.read(uid, decision.parts, signal),
      );
    } catch (error) {
      if (isCancelled(error)) throw error;
      timeline.record({
        kind: 'problem',
        what: 'pleg.readById',
        message: `reading pod ${uid} by its ids failed; listing it instead`,
        level: 'debug',
        data: { podUid: uid },
        error,
      });
      return undefined;
    }
  }

  /** Returns the inspections that a relist of all pods needs. */
  #passOn(relist: Relist): readonly Promise<void>[] {
    const { records, cache, awaited, inspections } = this.#options;
    const inspected: Promise<void>[] = [];
    for (const record of records.values()) {
      const inspection = inspections.reconcile(record);
      if (inspection !== undefined) inspected.push(inspection);
    }
    inspections.forgetStrangers();
    awaited.lookedAtAll((uid) => records.get(uid)?.current, relist.order);
    this.#lastRelist = relist;
    cache.setGlobal(relist.startMs, inspections.unread);
    return inspected;
  }

  /** A relist is measured until its inspections end; nothing else waits for them. */
  #measure(inspected: readonly Promise<void>[], observe: () => void): void {
    if (inspected.length === 0) observe();
    else this.#tasks.start('measuring a relist', () => Promise.allSettled(inspected).then(observe));
  }

  /** Records the first of consecutive failures, and the recovery. */
  #note(error: unknown): void {
    const problem = error === undefined ? '' : error instanceof Error ? error.message : String(error);
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#options.timeline.record(
      error === undefined
        ? { kind: 'notice', what: 'pleg.relist', message: 'listing pods in the runtime works again' }
        : {
            kind: 'problem',
            what: 'pleg.relist',
            message: 'listing pods in the runtime failed',
            because: 'the pods are relisted periodically',
            level: 'warn',
            error,
          },
    );
  }
}
