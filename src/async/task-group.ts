/** Owns background tasks: starts them, stops them together and awaits them all. */
import { setMaxListeners } from 'node:events';
import { isCancelled, linkedController } from './clock.js';

export interface TaskGroupOptions {
  /** Called when a task fails with anything but a cancellation. */
  readonly onError: (task: string, error: unknown) => void;
  readonly signal?: AbortSignal;
}

export class TaskGroup {
  readonly #running = new Set<Promise<void>>();
  readonly #controller: AbortController;
  readonly #unlink: () => void;
  readonly #onError: TaskGroupOptions['onError'];

  constructor(options: TaskGroupOptions) {
    const link = linkedController(options.signal);
    this.#controller = link.controller;
    // Every wait of every task listens on this signal, so many listeners are expected.
    setMaxListeners(0, link.controller.signal);
    this.#unlink = link.unlink;
    this.#onError = options.onError;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get size(): number {
    return this.#running.size;
  }

  /** Starts a task; does nothing after `stop`. */
  start(name: string, task: (signal: AbortSignal) => Promise<void>): void {
    if (this.#controller.signal.aborted) return;
    const running = this.#guard(name, task).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  async #guard(name: string, task: (signal: AbortSignal) => Promise<void>): Promise<void> {
    try {
      await task(this.#controller.signal);
    } catch (error) {
      if (!isCancelled(error)) this.#onError(name, error);
    }
  }

  /** Resolves when no task is running, including tasks started meanwhile. */
  async drained(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  async stop(): Promise<void> {
    this.#controller.abort();
    this.#unlink();
    await this.drained();
  }
}
