/** Makes the containers of a terminating pod wait for those that have to end before them. */
import { type Clock, TimedOut, withTimeout } from '../../async/index.js';

export class TerminationOrdering {
  readonly #order: ReadonlyMap<string, readonly string[]>;
  readonly #ended = new Map<string, { readonly promise: Promise<void>; readonly resolve: () => void }>();

  constructor(order: ReadonlyMap<string, readonly string[]>) {
    this.#order = order;
    for (const names of order.values()) {
      for (const name of names) {
        if (this.#ended.has(name)) continue;
        let resolve = (): void => {};
        const promise = new Promise<void>((done) => {
          resolve = done;
        });
        this.#ended.set(name, { promise, resolve });
      }
    }
  }

  /** The containers that this one waits for. */
  waitsFor(name: string): readonly string[] {
    return this.#order.get(name) ?? [];
  }

  /** Notes that the container has ended. */
  ended(name: string): void {
    this.#ended.get(name)?.resolve();
  }

  /** Returns when all containers that this one waits for have ended, or after the limit. */
  async wait(clock: Clock, name: string, limitMs: number, signal?: AbortSignal): Promise<void> {
    const others = this.waitsFor(name).map((other) => this.#ended.get(other)?.promise);
    if (others.length === 0) return;
    await atMost(clock, limitMs, Promise.all(others), signal);
  }
}

/** Waits for the work at most this long; the work goes on. */
export async function atMost(
  clock: Clock,
  limitMs: number,
  work: Promise<unknown>,
  signal?: AbortSignal,
): Promise<void> {
  try {
    await withTimeout(clock, limitMs, signal, () => work);
  } catch (error) {
    if (!(error instanceof TimedOut)) throw error;
  }
}
