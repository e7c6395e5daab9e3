/** One timer that many may ask for: it rings at the earliest moment that anybody wanted. */
import type { Clock, Timer } from './clock.js';

export class Alarm {
  readonly #clock: Clock;
  readonly #ring: () => void;
  #timer: Timer | undefined;
  #dueMs = Number.POSITIVE_INFINITY;

  constructor(clock: Clock, ring: () => void) {
    this.#clock = clock;
    this.#ring = ring;
  }

  /** Rings once after the delay, or earlier if somebody wants it earlier. */
  within(delayMs: number): void {
    const dueMs = this.#clock.monotonic() + delayMs;
    if (dueMs >= this.#dueMs) return;
    this.#timer?.cancel();
    this.#dueMs = dueMs;
    this.#timer = this.#clock.setTimer(delayMs, () => {
      this.#forget();
      this.#ring();
    });
  }

  /** Nobody wants it any more. */
  cancel(): void {
    this.#timer?.cancel();
    this.#forget();
  }

  #forget(): void {
    this.#timer = undefined;
    this.#dueMs = Number.POSITIVE_INFINITY;
  }
}
