/** What the server does itself after writes: lets unused storage go that was deleted, and forgets old events. */
import type { Clock } from '../../async/index.js';
import type { Event, KubeObject } from '../../kube/types/index.js';
import { type Resource, resources } from '../../kube-client/resources.js';
import { kubeApiLimits } from '../limits.js';
import type { ObjectServer } from '../objects/object-server.js';
import type { Storage } from '../objects/storage.js';
import {
  claimProtection,
  releasedObjects,
  volumeProtection,
  withoutFinalizer,
} from './storage/in-use-protection.js';

const { keptEvents, keptEventBytes, eventLifeMs, eventSweepMs } = kubeApiLimits;
/** Dropping some at once makes the next events cheap. */
const droppedShare = 10;
const aboutStorage: ReadonlySet<string> = new Set(['pods', 'persistentvolumeclaims', 'persistentvolumes']);

export class StoredUpkeep {
  readonly #clock: Clock;
  readonly #storage: Storage;
  readonly #objects: ObjectServer;
  #sweptMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, storage: Storage, objects: ObjectServer) {
    this.#clock = clock;
    this.#storage = storage;
    this.#objects = objects;
  }

  /** Called after each write of a resource, before it is answered. */
  afterWrite({ plural, group }: Resource): void {
    if (group !== '') return;
    if (aboutStorage.has(plural)) this.#release();
    if (plural === resources.events.plural) this.dropEvents();
  }

  /** Also before events are listed: nobody sees one that is too old. */
  dropEvents(): void {
    const nowMs = this.#clock.now();
    const isFull =
      this.#storage.count(resources.events) > keptEvents ||
      this.#storage.bytesOf(resources.events) > keptEventBytes;
    if (!isFull && nowMs - this.#sweptMs < eventSweepMs) return;
    this.#sweptMs = nowMs;
    const byAge = this.#listed(resources.events)
      .map((event) => ({ event, toldMs: toldAtMs(event) }))
      .toSorted((a, b) => a.toldMs - b.toldMs);
    const share = isFull ? 1 - 1 / droppedShare : 1;
    const hasRoom = (): boolean =>
      this.#storage.count(resources.events) <= keptEvents * share &&
      this.#storage.bytesOf(resources.events) <= keptEventBytes * share;
    for (const { event, toldMs } of byAge) {
      if (hasRoom() && nowMs - toldMs <= eventLifeMs) break;
      const { namespace = '', name = '' } = event.metadata;
      this.#storage.remove(resources.events, `${namespace}/${name}`, event);
    }
  }

  #release(): void {
    if (
      this.#storage.count(resources.persistentVolumeClaims) +
        this.#storage.count(resources.persistentVolumes) ===
      0
    )
      return;
    const { claims, volumes } = releasedObjects({
      claims: this.#listed(resources.persistentVolumeClaims),
      volumes: this.#listed(resources.persistentVolumes),
      pods: () => this.#listed(resources.pods),
    });
    for (const claim of claims)
      this.#objects.replace(
        resources.persistentVolumeClaims,
        claim,
        withoutFinalizer(claim, claimProtection),
      );
    for (const volume of volumes)
      this.#objects.replace(resources.persistentVolumes, volume, withoutFinalizer(volume, volumeProtection));
  }

  #listed<T extends KubeObject>(resource: Resource<T>): readonly T[] {
    // Only objects of this resource are stored under its name.
    return this.#storage.list(resource) as T[];
  }
}

/** An event that comes again is as young as its last time. */
function toldAtMs({ metadata, lastTimestamp, eventTime, series }: Event): number {
  const times = [metadata.creationTimestamp, lastTimestamp, eventTime, series?.lastObservedTime]
    .map((text) => Date.parse(text ?? ''))
    .filter((time) => !Number.isNaN(time));
  return Math.max(0, ...times);
}
