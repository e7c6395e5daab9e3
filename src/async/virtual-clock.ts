/** A clock that stands still until a test moves it. Timers fire in order; the work they wake settles in between. */
import type { Clock, Timer } from './clock.js';
import { type PendingTimer, TimerHeap } from './timer-heap.js';

const nothing = (): void => undefined;

export class VirtualClock implements Clock {
  /** Counted from the start: numbers near today's date are too coarse for fractions of a millisecond. */
  #nowMs = 0;
  #order = 0;
  #startMs: number;
  readonly #timers = new TimerHeap();
  readonly #settleTurns: number;

  /** One turn settles all work that waits for promises and for this clock only; more let immediates follow each other. */
  constructor(startMs = Date.UTC(2026, 0, 1), { settleTurns = 4 }: { readonly settleTurns?: number } = {}) {
    this.#startMs = startMs;
    this.#settleTurns = settleTurns;
  }

  /** Sets the wall clock forward, or back; timers and `monotonic` do not notice. */
  jumpWall(byMs: number): void {
    this.#startMs += byMs;
  }

  now(): number {
    return this.#startMs + this.#nowMs;
  }

  monotonic(): number {
    return this.#nowMs;
  }

  setTimer(delayMs: number, fire: () => void): Timer {
    const pending: PendingTimer = { dueMs: this.#nowMs + Math.max(0, delayMs), order: this.#order++, fire };
    this.#timers.add(pending);
    return {
      cancel: () => {
        this.#timers.delete(pending);
        pending.fire = nothing;
      },
    };
  }

  /** Number of pending timers; a stopped system should leave none. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** Moves time forward, firing each timer on the way and letting its work settle before the next; stops early when asked to. */
  async advance(durationMs: number, isOver: () => boolean = () => false): Promise<void> {
    const targetMs = this.#nowMs + durationMs;
    await settle(this.#settleTurns);
    for (;;) {
      const next = this.#timers.earliest();
      if (next === undefined || next.dueMs > targetMs) break;
      this.#timers.delete(next);
      this.#nowMs = Math.max(this.#nowMs, next.dueMs);
      next.fire();
      await settle(this.#settleTurns);
      if (isOver()) return;
    }
    this.#nowMs = targetMs;
    await settle(this.#settleTurns);
  }

  /** Moves from timer to timer until the condition holds; throws if it does not hold within the limit. */
  async advanceUntil(condition: () => boolean, limitMs = 3_600_000): Promise<void> {
    const endMs = this.#nowMs + limitMs;
    await settle(this.#settleTurns);
    while (!condition()) {
      const next = this.#timers.earliest();
      if (next === undefined || next.dueMs > endMs) {
        throw new Error(`condition did not hold within ${limitMs} ms of virtual time`);
      }
      await this.advance(Math.max(0, next.dueMs - this.#nowMs));
    }
  }
}

/** Lets pending promise chains and immediates run to their next wait. */
export async function settle(turns = 4): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}
