/** The work queue of a controller: keys that wait, one worker for each key, and a pause after each failure. */
import { Backoff, type Clock, isCancelled, TaskGroup, type Timer } from '../../async/index.js';
import { controllerLimits } from '../limits.js';

/** When a key must be looked at again though nothing changes. */
export interface KeyOutcome {
  readonly againAfterMs?: number | undefined;
}

export interface KeyQueueOptions {
  readonly clock: Clock;
  /** Brings what the key names to its wanted state; a rejection is tried again. */
  readonly sync: (key: string, signal: AbortSignal) => Promise<KeyOutcome>;
  /** Called for each failure. */
  readonly onFailure: (key: string, error: unknown, retryAfterMs: number) => void;
  /** Called some time after keys were dropped because the queue was full: the owner adds all keys again. */
  readonly onDropped: () => void;
  readonly concurrentKeys?: number;
  readonly maxKeys?: number;
}

const droppedPauseMs = 1000;

export class KeyQueue {
  readonly #options: KeyQueueOptions;
  readonly #backoff: Backoff;
  /** Due, in the order in which they became so. */
  readonly #ready = new Set<string>();
  readonly #delayed = new Map<string, { readonly timer: Timer; readonly dueMs: number }>();
  readonly #running = new Set<string>();
  /** Added while their worker ran: they become ready when it ends. */
  readonly #again = new Set<string>();
  #tasks: TaskGroup | undefined;
  #dropped: Timer | undefined;

  constructor(options: KeyQueueOptions) {
    this.#options = options;
    const { firstRetryMs: initialMs, longestRetryMs: maxMs } = controllerLimits;
    this.#backoff = new Backoff({ initialMs, maxMs, resetAfterMs: 10 * maxMs, maxEntries: this.#maxKeys });
  }

  get size(): number {
    return this.#ready.size + this.#delayed.size + this.#running.size;
  }

  /** Asks for a look at the key, at the latest after the delay. */
  add(key: string, delayMs = 0): void {
    if (this.#ready.has(key)) return;
    if (this.#running.has(key) && delayMs <= 0) {
      this.#again.add(key);
      return;
    }
    const { clock } = this.#options;
    const waiting = this.#delayed.get(key);
    if (waiting === undefined && !this.#running.has(key) && this.size >= this.#maxKeys) {
      this.#drop();
      return;
    }
    const dueMs = clock.monotonic() + delayMs;
    if (waiting !== undefined) {
      if (waiting.dueMs <= dueMs) return;
      this.#forgetDelay(key);
    }
    if (delayMs <= 0) this.#ready.add(key);
    else this.#delayed.set(key, { dueMs, timer: clock.setTimer(delayMs, () => this.#due(key)) });
    // Later, so that what one change adds again and again is looked at once.
    queueMicrotask(() => this.#pump());
  }

  /** Works until the signal aborts; returns when every worker has ended. */
  async run(signal: AbortSignal): Promise<void> {
    const failed: unknown[] = [];
    const tasks = new TaskGroup({ signal, onError: (_, error) => failed.push(error) });
    this.#tasks = tasks;
    this.#pump();
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), { once: true });
    });
    this.#tasks = undefined;
    this.#dropped?.cancel();
    for (const key of [...this.#delayed.keys()]) this.#forgetDelay(key);
    await tasks.stop();
    if (failed.length > 0) throw failed[0];
  }

  get #maxKeys(): number {
    return this.#options.maxKeys ?? controllerLimits.keys;
  }

  #due(key: string): void {
    this.#delayed.delete(key);
    if (this.#running.has(key)) this.#again.add(key);
    else this.#ready.add(key);
    this.#pump();
  }

  #forgetDelay(key: string): void {
    this.#delayed.get(key)?.timer.cancel();
    this.#delayed.delete(key);
  }

  #pump(): void {
    const { concurrentKeys = controllerLimits.concurrentKeys } = this.#options;
    for (const key of this.#ready) {
      if (this.#tasks === undefined || this.#running.size >= concurrentKeys) return;
      this.#ready.delete(key);
      this.#running.add(key);
      this.#tasks.start(key, (signal) => this.#work(key, signal));
    }
  }

  async #work(key: string, signal: AbortSignal): Promise<void> {
    let nextMs: number | undefined;
    try {
      nextMs = (await this.#options.sync(key, signal)).againAfterMs;
      this.#backoff.reset(key);
    } catch (error) {
      if (signal.aborted || isCancelled(error)) return;
      const nowMs = this.#options.clock.monotonic();
      this.#backoff.advance(key, nowMs, nowMs);
      nextMs = this.#backoff.delayMs(key);
      this.#options.onFailure(key, error, nextMs);
    } finally {
      this.#running.delete(key);
    }
    // Nobody would cancel what is set now.
    if (signal.aborted) return;
    if (this.#again.delete(key)) this.add(key, this.#backoff.delayMs(key));
    if (nextMs !== undefined) this.add(key, Math.max(1, nextMs));
    this.#pump();
  }

  #drop(): void {
    this.#dropped ??= this.#options.clock.setTimer(droppedPauseMs, () => {
      this.#dropped = undefined;
      this.#options.onDropped();
    });
  }
}
