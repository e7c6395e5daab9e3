/** The signals of logind that wait for their turn, never many: what counts in the end is the newest. */

const mostWaiting = 8;

export class PrepareEvents {
  readonly #waiting: boolean[] = [];
  readonly #onAdded: () => void;

  constructor(onAdded: () => void) {
    this.#onAdded = onAdded;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  add(isBegun: boolean): void {
    if (this.#waiting.at(-1) !== isBegun) this.#waiting.push(isBegun);
    // A beginning and its cancellation come to nothing: the oldest two go.
    if (this.#waiting.length > mostWaiting) this.#waiting.splice(0, 2);
    this.#onAdded();
  }

  take(): boolean | undefined {
    return this.#waiting.shift();
  }
}
