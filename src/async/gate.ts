/** A gate that admits a fixed number of holders at a time: lower rank first, then first come, first served. */
import { Cancelled } from './clock.js';

interface GateWaiter {
  readonly rank: number;
  readonly enter: () => void;
}

export interface GateRequest {
  /** Lower ranks go first. */
  readonly rank?: number;
  readonly signal?: AbortSignal;
}

export class Gate {
  #width: number;
  #inside = 0;
  readonly #waiters: GateWaiter[] = [];

  constructor(width: number) {
    this.#width = Math.max(1, Math.floor(width));
  }

  get width(): number {
    return this.#width;
  }

  get inside(): number {
    return this.#inside;
  }

  get waiting(): number {
    return this.#waiters.length;
  }

  /** Waits for a slot, runs the work and releases the slot. */
  async run<T>(work: () => Promise<T>, turn: GateRequest = {}): Promise<T> {
    await this.enter(turn);
    try {
      return await work();
    } finally {
      this.leave();
    }
  }

  enter({ rank = 0, signal }: GateRequest = {}): Promise<void> {
    if (signal?.aborted) return Promise.reject(new Cancelled());
    if (this.#inside < this.#width && this.#waiters.length === 0) {
      this.#inside++;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        const index = this.#waiters.indexOf(waiter);
        if (index >= 0) this.#waiters.splice(index, 1);
        reject(new Cancelled());
      };
      const waiter: GateWaiter = {
        rank,
        enter: () => {
          signal?.removeEventListener('abort', onAbort);
          resolve();
        },
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      const behind = this.#waiters.findIndex((other) => other.rank > rank);
      this.#waiters.splice(behind < 0 ? this.#waiters.length : behind, 0, waiter);
    });
  }

  leave(): void {
    const next = this.#waiters.shift();
    if (next === undefined) this.#inside--;
    else next.enter();
  }
}
