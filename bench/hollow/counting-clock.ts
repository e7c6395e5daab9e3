/** A clock that counts what is asked of it. */
import type { Clock, Timer } from '../../src/async/index.js';

export class CountingClock implements Clock {
  /** Timers that came due. */
  fired = 0;
  /** Timers that were set; many are cancelled before they are due. */
  set = 0;
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now();
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  setTimer(delayMs: number, fire: () => void): Timer {
    this.set++;
    return this.#clock.setTimer(delayMs, () => {
      this.fired++;
      fire();
    });
  }
}
