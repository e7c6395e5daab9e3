/** A semaphore whose holders lose their slot when they take too long, so that slow work does not hold up the rest. */
import type { Clock } from './clock.js';
import { Gate, type GateRequest } from './gate.js';

export interface YieldingSemaphoreOptions {
  readonly clock: Clock;
  readonly width: number;
  /** How long a holder may keep its slot. */
  readonly patienceMs: number;
  /** Work that ends within this time restores the full `patienceMs`. Default: `patienceMs`. */
  readonly usualMs?: number;
}

export interface YieldingRequest extends GateRequest {
  /** Overrides the semaphore's `patienceMs` for this holder. */
  readonly patienceMs?: number;
}

/** Lets the work control its slot. */
export interface YieldingSlot {
  /** Releases the slot while the work goes on. */
  passOn(): void;
  /**
   * Cancels the time limit: the holder is slow only because others run beside it. It keeps its slot until the
   * work ends or calls `passOn`.
   */
  stay(): void;
}

/** Replaces `patienceMs` after a holder has exceeded it, until one ends in time again. */
const impatienceMs = 25;

export class YieldingSemaphore {
  readonly #options: YieldingSemaphoreOptions;
  readonly #gate: Gate;
  #isPatient = true;

  constructor(options: YieldingSemaphoreOptions) {
    this.#options = options;
    this.#gate = new Gate(options.width);
  }

  get waiting(): number {
    return this.#gate.waiting;
  }

  /** Holders that still have their slot. */
  get inside(): number {
    return this.#gate.inside;
  }

  async run<T>(work: (turn: YieldingSlot) => Promise<T>, turn: YieldingRequest = {}): Promise<T> {
    await this.#gate.enter(turn);
    let isHeld = true;
    const leave = (): void => {
      if (isHeld) this.#gate.leave();
      isHeld = false;
    };
    const { clock } = this.#options;
    const { patienceMs = this.#options.patienceMs } = turn;
    const { usualMs = patienceMs } = this.#options;
    const beganMs = clock.monotonic();
    const timer = clock.setTimer(this.#isPatient ? patienceMs : impatienceMs, () => {
      this.#isPatient = false;
      leave();
    });
    const passOn = (): void => {
      timer.cancel();
      if (isHeld || clock.monotonic() - beganMs <= usualMs) this.#isPatient = true;
      leave();
    };
    try {
      const done = await work({ passOn, stay: () => timer.cancel() });
      passOn();
      return done;
    } finally {
      timer.cancel();
      leave();
    }
  }
}
