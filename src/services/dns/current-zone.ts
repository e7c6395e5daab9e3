/** The cluster's names as the objects are now, made anew when somebody asks after a change. */
import type { Clock } from '../../async/index.js';
import type { WatchedObjects } from '../watched-objects.js';
import { Zone, type ZoneSettings } from './zone.js';

/** A large zone that changes all the time is not made for every query: at most this part of the time goes into it. */
const restOfCost = 20;

export class CurrentZone {
  readonly #clock: Clock;
  readonly #objects: WatchedObjects;
  readonly #settings: ZoneSettings;
  #zone: Zone | undefined;
  #isStale = true;
  #dueMs = 0;

  constructor(clock: Clock, objects: WatchedObjects, settings: ZoneSettings) {
    this.#clock = clock;
    this.#objects = objects;
    this.#settings = settings;
  }

  /** Follows the objects; returns how to end it. */
  follow(): () => void {
    return this.#objects.subscribe(({ of }) => {
      if (of !== 'endpoints') this.#isStale = true;
    });
  }

  get(): Zone {
    const startMs = this.#clock.monotonic();
    if (this.#zone !== undefined && (!this.#isStale || startMs < this.#dueMs)) return this.#zone;
    this.#isStale = false;
    const { services, slices, pods } = this.#objects;
    const objects = { services: services.list(), slices: slices.list(), pods: pods.list() };
    this.#zone = new Zone(objects, this.#settings);
    const endMs = this.#clock.monotonic();
    this.#dueMs = endMs + (endMs - startMs) * restOfCost;
    return this.#zone;
  }
}
