/** Owns background tasks: starts them, stops them together and awaits them all. */
import { setMaxListeners } from 'node:events';
import { isCancelled, linkedController } from './clock.js';

export interface TaskGroupOptions {
  /** Called when a task fails with anything but a cancellation. */
  readonly onError: (task: string, error: unknown) => void;
  readonly signal?: AbortSignal;
}

export class TaskGroup {
  readonly #options: TaskGroupOptions;
  readonly #running = new Set<Promise<void>>();
  /** Made when somebody needs it: many groups never have a task, and a signal takes a kilobyte. */
  #link: ReturnType<typeof linkedController> | undefined;
  #isStopped = false;

  constructor(options: TaskGroupOptions) {
    this.#options = options;
  }

  get signal(): AbortSignal {
    this.#link ??= this.#newLink();
    return this.#link.controller.signal;
  }

  get size(): number {
    return this.#running.size;
  }

  /** Starts a task; does nothing after `stop`. */
  start(name: string, task: (signal: AbortSignal) => Promise<void>): void {
    if (this.#isStopped || this.signal.aborted) return;
    const running = this.#guard(name, task).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  async #guard(name: string, task: (signal: AbortSignal) => Promise<void>): Promise<void> {
    try {
      await task(this.signal);
    } catch (error) {
      if (!isCancelled(error)) this.#options.onError(name, error);
    }
  }

  /** Resolves when no task is running, including tasks started meanwhile. */
  async drained(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#link?.controller.abort();
    this.#link?.unlink();
    await this.drained();
  }

  #newLink(): ReturnType<typeof linkedController> {
    const link = linkedController(this.#options.signal);
    // Every wait of every task listens on this signal, so many listeners are expected.
    setMaxListeners(0, link.controller.signal);
    if (this.#isStopped) {
      link.controller.abort();
      link.unlink();
    }
    return link;
  }
}
