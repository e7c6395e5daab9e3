/** A bounded cache with expiry; the least recently used entry goes first. */
import { BoundedMap, type Clock } from '../../async/index.js';

interface ExpiringValue<V> {
  readonly value: V;
  readonly expiresMs: number;
}

export class ExpiringCache<V> {
  readonly #clock: Clock;
  readonly #entries: BoundedMap<string, ExpiringValue<V>>;

  constructor(clock: Clock, limit: number) {
    this.#clock = clock;
    this.#entries = new BoundedMap({ maxEntries: limit });
  }

  get(key: string): V | undefined {
    const entry = this.#entries.use(key);
    if (entry === undefined) return undefined;
    if (entry.expiresMs > this.#clock.monotonic()) return entry.value;
    this.#entries.delete(key);
    return undefined;
  }

  set(key: string, value: V, ttlMs: number): void {
    if (ttlMs <= 0) return;
    this.#entries.set(key, { value, expiresMs: this.#clock.monotonic() + ttlMs });
  }

  get size(): number {
    return this.#entries.size;
  }
}
