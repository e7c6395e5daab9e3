/** Keys with due times. A key has one due time: the one set last. */
import type { Clock, Timer } from './clock.js';

export class WorkQueue<K> {
  readonly #clock: Clock;
  readonly #dueMs = new Map<K, number>();
  readonly #onDue: () => void;
  #timer: Timer | undefined;
  #timerDueMs = Number.POSITIVE_INFINITY;

  /** `onDue` is called when the earliest key falls due, so the reader need not poll. */
  constructor(clock: Clock, onDue: () => void = () => {}) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  get size(): number {
    return this.#dueMs.size;
  }

  enqueue(key: K, delayMs: number): void {
    this.#dueMs.set(key, this.#clock.monotonic() + delayMs);
    this.#arm();
  }

  forget(key: K): void {
    this.#dueMs.delete(key);
  }

  /** Removes and returns the due keys. */
  take(): K[] {
    const nowMs = this.#clock.monotonic();
    const due: K[] = [];
    for (const [key, dueMs] of this.#dueMs) {
      if (dueMs <= nowMs) due.push(key);
    }
    for (const key of due) this.#dueMs.delete(key);
    this.#arm();
    return due;
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#timerDueMs = Number.POSITIVE_INFINITY;
    this.#dueMs.clear();
  }

  #arm(): void {
    let earliestMs = Number.POSITIVE_INFINITY;
    for (const dueMs of this.#dueMs.values()) earliestMs = Math.min(earliestMs, dueMs);
    if (earliestMs === this.#timerDueMs) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#timerDueMs = earliestMs;
    if (earliestMs === Number.POSITIVE_INFINITY) return;
    this.#timer = this.#clock.setTimer(earliestMs - this.#clock.monotonic(), () => {
      this.#timer = undefined;
      this.#timerDueMs = Number.POSITIVE_INFINITY;
      this.#onDue();
    });
  }
}
