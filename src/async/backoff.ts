/** Exponential back-off by key, counted from a reference time that the caller passes in. */
import { BoundedMap } from './bounded-map.js';

interface BackoffEntry {
  readonly delayMs: number;
  readonly lastUpdateMs: number;
}

export interface BackoffOptions {
  readonly initialMs: number;
  readonly maxMs: number;
  /** An entry not updated for this long counts as new. */
  readonly resetAfterMs: number;
  /** Maximum number of keys; the least recently set go first. */
  readonly maxEntries?: number;
}

/** A delay that is still running. */
export interface BackoffWait {
  readonly delayMs: number;
  /** When it ends, on the clock of the caller. */
  readonly untilMs: number;
}

export class Backoff {
  readonly #entries: BoundedMap<string, BackoffEntry>;
  readonly #options: Omit<BackoffOptions, 'maxEntries'>;

  constructor(options: BackoffOptions) {
    const { maxEntries = 10_000, ...delays } = options;
    this.#options = { ...delays, initialMs: Math.min(options.initialMs, options.maxMs) };
    this.#entries = new BoundedMap({ maxEntries });
  }

  get size(): number {
    return this.#entries.size;
  }

  delayMs(key: string): number {
    return this.#entries.get(key)?.delayMs ?? 0;
  }

  /** The delay of the key, counted from `sinceMs`; undefined when it is over at `nowMs`. */
  waiting(key: string, sinceMs: number, nowMs: number): BackoffWait | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || sinceMs - entry.lastUpdateMs > this.#options.resetAfterMs) return undefined;
    // The clock was set back since: nobody knows how long ago that was, and the next time counts again.
    if (sinceMs - nowMs > entry.delayMs) return undefined;
    const untilMs = sinceMs + entry.delayMs;
    return nowMs < untilMs ? { delayMs: entry.delayMs, untilMs } : undefined;
  }

  /** Whether the delay is still running, counted from the key's own last advance. */
  isWaitingSinceAdvance(key: string, nowMs: number): boolean {
    const entry = this.#entries.get(key);
    if (entry === undefined || nowMs - entry.lastUpdateMs > this.#options.resetAfterMs) return false;
    return nowMs - entry.lastUpdateMs < entry.delayMs;
  }

  /** Moves to the next delay: the initial one, or twice the last, up to the maximum. */
  advance(key: string, sinceMs: number, nowMs: number): void {
    const entry = this.#entries.get(key);
    const isNew = entry === undefined || sinceMs - entry.lastUpdateMs > this.#options.resetAfterMs;
    const delayMs = isNew ? this.#options.initialMs : Math.min(entry.delayMs * 2, this.#options.maxMs);
    this.#entries.set(key, { delayMs, lastUpdateMs: nowMs });
  }

  reset(key: string): void {
    this.#entries.delete(key);
  }

  /** Drops keys not updated for longer than the reset time. */
  collect(nowMs: number): void {
    for (const [key, entry] of this.#entries) {
      if (nowMs - entry.lastUpdateMs > this.#options.resetAfterMs) this.#entries.delete(key);
    }
  }
}
