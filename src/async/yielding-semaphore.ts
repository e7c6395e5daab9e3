/** A gate whose turns pass on when one takes longer than others do: nothing that takes its time holds up the rest. */
import type { Clock } from './clock.js';
import { Gate, type GateTurn } from './gate.js';

export interface YieldingSemaphoreOptions {
  readonly clock: Clock;
  readonly width: number;
  /** So long a turn is waited for. */
  readonly patienceMs: number;
  /** Work that takes no longer is a sign that turns are worth waiting for again. Default: `patienceMs`. */
  readonly usualMs?: number;
}

export interface PatientGateTurn extends GateTurn {
  /** For this turn another time than the gate's. */
  readonly patienceMs?: number;
}

/** What the work in a turn says of it. */
export interface PatientTurn {
  /** The next may begin, though this work goes on. */
  passOn(): void;
  /** Nothing is slow any more but the number of those in turn: the turn lasts until the work ends or passes it on. */
  stay(): void;
}

/** When the last one took longer, the next ones are not waited for either. */
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

  /** Those whose turn has not passed on. */
  get inside(): number {
    return this.#gate.inside;
  }

  /** Does the work in its turn. */
  async run<T>(work: (turn: PatientTurn) => Promise<T>, turn: PatientGateTurn = {}): Promise<T> {
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
