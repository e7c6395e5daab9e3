/**
 * The order in which pods end when many are to end at once: some early instead of all late, as the runtime takes the same
 * time for all of them either way. Nothing that takes its time to end holds up the others.
 */
import { type Clock, Gate } from '../async/index.js';

/** A container that ends when it is told to is gone by then, however busy the runtime is. */
const patienceMs = 1_000;
/** When the last one was not, the next ones are not waited for either. */
const impatienceMs = 25;
/** Those that have begun to end come first. */
const ranks = { sandbox: 0, container: 1 } as const;

export class EndTurns {
  readonly #clock: Clock;
  readonly #gate: Gate;
  #isPatient = true;

  constructor({ clock, width }: { readonly clock: Clock; readonly width: number }) {
    this.#clock = clock;
    this.#gate = new Gate(width);
  }

  /** Stops a container in its turn, which passes on when the container takes longer than others. */
  async container<T>(stop: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    await this.#gate.enter({ rank: ranks.container, ...(signal === undefined ? {} : { signal }) });
    let isHeld = true;
    const passOn = (): void => {
      if (isHeld) this.#gate.leave();
      isHeld = false;
    };
    const timer = this.#clock.setTimer(this.#isPatient ? patienceMs : impatienceMs, () => {
      this.#isPatient = false;
      passOn();
    });
    try {
      const stopped = await stop();
      if (isHeld) this.#isPatient = true;
      return stopped;
    } finally {
      timer.cancel();
      passOn();
    }
  }

  sandbox<T>(stop: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    return this.#gate.run(stop, { rank: ranks.sandbox, ...(signal === undefined ? {} : { signal }) });
  }
}
