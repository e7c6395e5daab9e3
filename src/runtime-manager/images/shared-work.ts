/** Shares one piece of work among concurrent callers; it is cancelled when the last of them leaves. */
import { Cancelled, throwIfCancelled } from '../../async/index.js';

interface SharedCall<T> {
  readonly outcome: Promise<T>;
  readonly controller: AbortController;
  waiters: number;
}

export class SharedWork<T> {
  readonly #running = new Map<string, SharedCall<T>>();

  get size(): number {
    return this.#running.size;
  }

  /**
   * Joins the work running under the key, or starts it. A caller whose signal is aborted leaves with
   * Cancelled; the last one to leave stops the work and waits for its end.
   */
  async run(
    key: string,
    signal: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    throwIfCancelled(signal);
    const shared = this.#running.get(key) ?? this.#start(key, work);
    shared.waiters++;
    try {
      return await untilAborted(shared.outcome, signal);
    } catch (error) {
      if (shared.waiters === 1 && error instanceof Cancelled && signal?.aborted) {
        this.#forget(key, shared);
        shared.controller.abort();
        await shared.outcome.then(ignore, ignore);
      }
      throw error;
    } finally {
      shared.waiters--;
    }
  }

  #start(key: string, work: (signal: AbortSignal) => Promise<T>): SharedCall<T> {
    const controller = new AbortController();
    const outcome = work(controller.signal).finally(() => this.#forget(key, shared));
    const shared: SharedCall<T> = { outcome, controller, waiters: 0 };
    this.#running.set(key, shared);
    return shared;
  }

  #forget(key: string, shared: SharedCall<T>): void {
    if (this.#running.get(key) === shared) this.#running.delete(key);
  }
}

/** Nobody needs the outcome of abandoned work: every caller has left with Cancelled. */
function ignore(): void {}

function untilAborted<T>(outcome: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return outcome;
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(new Cancelled());
    signal.addEventListener('abort', onAbort, { once: true });
    outcome.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
