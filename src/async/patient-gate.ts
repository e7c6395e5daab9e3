/** A gate whose turns pass on when one takes longer than others do: nothing that takes its time holds up the rest. */
import type { Clock } from './clock.js';
import { Gate, type GateTurn } from './gate.js';

export interface PatientGateOptions {
  readonly clock: Clock;
  readonly width: number;
  /** So long a turn is waited for. */
  readonly patienceMs: number;
}

/** When the last one took longer, the next ones are not waited for either. */
const impatienceMs = 25;

export class PatientGate {
  readonly #options: PatientGateOptions;
  readonly #gate: Gate;
  #isPatient = true;

  constructor(options: PatientGateOptions) {
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

  /** Does the work in its turn, which also passes on when the work says so by calling what it is given. */
  async run<T>(work: (passOn: () => void) => Promise<T>, turn: GateTurn = {}): Promise<T> {
    await this.#gate.enter(turn);
    let isHeld = true;
    const leave = (): void => {
      if (isHeld) this.#gate.leave();
      isHeld = false;
    };
    const { clock, patienceMs } = this.#options;
    const timer = clock.setTimer(this.#isPatient ? patienceMs : impatienceMs, () => {
      this.#isPatient = false;
      leave();
    });
    const passOn = (): void => {
      timer.cancel();
      if (isHeld) this.#isPatient = true;
      leave();
    };
    try {
      const done = await work(passOn);
      passOn();
      return done;
    } finally {
      timer.cancel();
      leave();
    }
  }

  /** Does the work in its turn, however long it takes. */
  hold<T>(work: () => Promise<T>, turn: GateTurn = {}): Promise<T> {
    return this.#gate.run(work, turn);
  }
}
