/** Answers that stay true for a while: bounded, the one that was used least recently goes first. */
import type { Clock } from '../../async/index.js';

interface Kept<V> {
  readonly value: V;
  readonly expiresMs: number;
}

export class ExpiringCache<V> {
  readonly #clock: Clock;
  readonly #limit: number;
  /** In the order of their use. */
  readonly #entries = new Map<string, Kept<V>>();

  constructor(clock: Clock, limit: number) {
    this.#clock = clock;
    this.#limit = limit;
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    if (entry.expiresMs <= this.#clock.monotonic()) return undefined;
    this.#entries.set(key, entry);
    return entry.value;
  }

  set(key: string, value: V, ttlMs: number): void {
    if (ttlMs <= 0) return;
    this.#entries.delete(key);
    this.#entries.set(key, { value, expiresMs: this.#clock.monotonic() + ttlMs });
    if (this.#entries.size <= this.#limit) return;
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined) this.#entries.delete(oldest);
  }

  get size(): number {
    return this.#entries.size;
  }
}
