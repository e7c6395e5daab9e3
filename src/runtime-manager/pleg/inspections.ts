/** Reads the full status of changed pods, each on its own: a pod with slow runtime calls delays no other. */
import { type Clock, Gate, isCancelled, TaskGroup } from '../../async/index.js';
import type { ObservedPod, ObservedPodStatus } from '../../cri/index.js';
import type { Timeline } from '../../timeline/index.js';
import type { PodCache } from './cache.js';
import { comparePods, type PodLifecycleEvent } from './compare.js';
import type { PlegRuntime } from './ports.js';
import { preservePodIps } from './preserve-pod-ips.js';
import type { PodRecords, RelistedPod } from './records.js';

export interface InspectionsOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly runtime: Pick<PlegRuntime, 'podStatus'>;
  readonly records: PodRecords;
  readonly cache: PodCache;
  /** Receives a pod's change once the cache holds it. */
  readonly deliver: (event: PodLifecycleEvent) => void;
  /** Called when an inspection failed; the next relist of the pod retries. */
  readonly onFailure: () => void;
}

/** How many pods are inspected in parallel, not counting slow ones. */
const parallel = 8;
/** An inspection slower than this gives up its slot. */
const slowAfterMs = 1_000;

/** A queued or running inspection. Once its pod no longer holds it, the pod has ended. */
interface Inspection {
  done: Promise<void>;
}

export class Inspections {
  readonly #options: InspectionsOptions;
  readonly #byPod = new Map<string, Inspection>();
  /** By pod, the position of the latest request in the order of all requests and relists. */
  readonly #reinspect = new Map<string, number>();
  readonly #gate = new Gate(parallel);
  readonly #tasks: TaskGroup;

  constructor(options: InspectionsOptions) {
    this.#options = options;
    this.#tasks = new TaskGroup({
      onError: (task, error) =>
        options.timeline.record({ kind: 'problem', what: 'pleg.inspect', message: `${task} failed`, error }),
    });
  }

  /** Whether the cache lacks the pod's latest observation. */
  isUnread(uid: string): boolean {
    return this.#byPod.has(uid);
  }

  get unread(): ReadonlySet<string> {
    return new Set(this.#byPod.keys());
  }

  /** Makes the pod's next relist inspect it even if nothing changed. A reading that began later will do. */
  requestReinspect(uid: string, order: number): void {
    this.#reinspect.set(uid, order);
  }

  /** Drops requests for pods that do not exist. */
  forgetStrangers(): void {
    for (const uid of this.#reinspect.keys()) {
      if (this.#options.records.get(uid) === undefined) this.#reinspect.delete(uid);
    }
  }

  /** Acts on a relist of the pod. Returns the end of the inspection that this takes, if it takes one. */
  reconcile(record: RelistedPod): Promise<void> | undefined {
    const { uid, old, current } = record;
    const { records } = this.#options;
    if (current === undefined) {
      this.#end(record);
      return undefined;
    }
    const underWay = this.#byPod.get(uid);
    const changed = comparePods(uid, old, current).length > 0;
    if (changed) records.index(record);
    // The running inspection compares again when it ends; a queued one when it starts.
    if (underWay !== undefined) return underWay.done;
    if (changed || this.#reinspect.has(uid)) return this.#start(uid);
    records.advance(record, current);
    return undefined;
  }

  /** Resolves when no inspection is queued or running. */
  drained(): Promise<void> {
    return this.#tasks.drained();
  }

  stop(): Promise<void> {
    return this.#tasks.stop();
  }

  /** The runtime has the pod no more, so that there is nothing to read. */
  #end(record: RelistedPod): void {
    const { uid, old } = record;
    const { records, cache } = this.#options;
    this.#byPod.delete(uid);
    cache.delete(uid);
    records.forget(record);
    this.#tell(uid, comparePods(uid, old, undefined), this.#reinspect.delete(uid));
  }

  #start(uid: string): Promise<void> {
    const inspection: Inspection = { done: Promise.resolve() };
    if (this.#tasks.signal.aborted) return inspection.done;
    this.#byPod.set(uid, inspection);
    inspection.done = this.#takeTurn(uid, inspection);
    this.#tasks.start(`inspecting pod ${uid}`, () => inspection.done);
    return inspection.done;
  }

  async #takeTurn(uid: string, inspection: Inspection): Promise<void> {
    await this.#gate.enter({ signal: this.#tasks.signal });
    let inside = true;
    const leave = (): void => {
      if (inside) this.#gate.leave();
      inside = false;
    };
    const slow = this.#options.clock.setTimer(slowAfterMs, leave);
    try {
      await this.#inspect(uid, inspection);
    } finally {
      slow.cancel();
      leave();
      if (this.#byPod.get(uid) === inspection) this.#byPod.delete(uid);
    }
  }

  /** Emits the events only on success, so that a failed inspection is retried. */
  async #inspect(uid: string, inspection: Inspection): Promise<void> {
    const { records, cache, onFailure } = this.#options;
    const record = records.get(uid);
    const listed = record?.current;
    if (record === undefined || listed === undefined || this.#byPod.get(uid) !== inspection) return;
    const events = comparePods(uid, record.old, listed);
    const requestedAt = this.#reinspect.get(uid);
    const requested = this.#reinspect.delete(uid);
    if (events.length > 0 || requested) {
      // A status read by the relist will do, unless a newer one was requested.
      const isOld = requestedAt !== undefined && record.readOrder < requestedAt;
      const read = isOld ? undefined : record.read;
      const outcome = read === undefined ? await this.#read(listed) : { status: this.#withIps(uid, read) };
      if (this.#byPod.get(uid) !== inspection) return;
      cache.set(uid, outcome, listed.observedAtMs);
      if ('error' in outcome) {
        this.#reinspect.set(uid, requestedAt ?? 0);
        onFailure();
        return;
      }
      records.advance(record, listed);
      this.#tell(uid, events, requested);
    }
    this.#byPod.delete(uid);
    const next = this.reconcile(record);
    if (next === undefined && record.current !== undefined) {
      cache.setObserved(uid, record.current.observedAtMs);
    }
  }

  async #read(listed: ObservedPod): Promise<{ status: ObservedPodStatus } | { error: Error }> {
    const { runtime } = this.#options;
    const { uid, name, namespace } = listed;
    try {
      const status = await runtime.podStatus(uid, name, namespace, listed);
      return { status: this.#withIps(uid, status) };
    } catch (error) {
      if (isCancelled(error)) throw error;
      return { error: error instanceof Error ? error : new Error(String(error)) };
    }
  }

  #withIps(uid: string, status: ObservedPodStatus): ObservedPodStatus {
    return preservePodIps(status, this.#options.cache.peek(uid));
  }

  #tell(uid: string, events: readonly PodLifecycleEvent[], requested: boolean): void {
    for (const event of events) if (event.type !== 'ContainerChanged') this.#options.deliver(event);
    if (events.length === 0 && requested) this.#options.deliver({ uid, type: 'PodSync', id: uid });
  }
}
