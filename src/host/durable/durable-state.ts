/** A durable file that mirrors a state in memory: written on every change, and retried until it is on disk. */
import type { Timer } from '../../async/index.js';
import type { DurableFiles } from './durable-files.js';
import type { ReplaceFileOptions } from './replace-file.js';

const firstRetryMs = 1_000;
const longestRetryMs = 60_000;

export interface DurableStateOptions extends ReplaceFileOptions {
  /** Whether its reader calls `readNewest`, so that `lasting` need not wait for the disk. */
  readonly isReadNewest?: boolean;
}

export class DurableState {
  readonly #store: DurableFiles;
  readonly #path: string;
  readonly #text: () => string;
  readonly #options: DurableStateOptions;
  /** The last write; later writes wait for it. */
  #last: Promise<void> = Promise.resolve();
  /** When the content of the last write outlasts this process; the error of a write that fails before. */
  #lasting: Promise<unknown> = Promise.resolve();
  /** Whether a write is queued that will include every change until it begins. */
  #isPending = false;
  #failure: unknown;
  #retryMs = firstRetryMs;
  #retry: Timer | undefined;
  #stopped = false;

  /** `text` is called when a write begins. */
  constructor(store: DurableFiles, path: string, text: () => string, options: DurableStateOptions = {}) {
    this.#store = store;
    this.#path = path;
    this.#text = text;
    this.#options = options;
  }

  /** Changes made together are written together; changes during a write go into the next one. */
  changed(): void {
    // While writes fail, the back-off decides when to try again.
    if (this.#isPending || this.#retry !== undefined) return;
    this.#begin();
  }

  /** Resolves once all earlier changes are on disk; tries at once and rejects if the write fails. */
  async written(): Promise<void> {
    await this.#last;
    if (this.#failure === undefined) return;
    if (!this.#isPending) this.#begin();
    await this.#last;
    if (this.#failure !== undefined) throw this.#failure;
  }

  /**
   * Resolves once all earlier changes outlast this process: killed, it finds them again by `readNewest`, although a power
   * cut may still undo them. Tries at once and rejects if they cannot be written.
   */
  async lasting(): Promise<void> {
    if ((await this.#lasting) === undefined) return;
    if (!this.#isPending) this.#begin();
    const failure = await this.#lasting;
    if (failure !== undefined) throw failure;
  }

  /** Resolves when everything is on disk or has failed; nothing is written afterwards. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelRetry();
    if (this.#failure !== undefined && !this.#isPending) this.#begin();
    await this.#last;
  }

  #begin(): void {
    this.#cancelRetry();
    this.#isPending = true;
    this.#lasting = new Promise((lasts) => {
      this.#last = this.#last.then(() => this.#write(lasts));
    });
  }

  async #write(lasts: (failure?: unknown) => void): Promise<void> {
    this.#isPending = false;
    try {
      const options = this.#options.isReadNewest ? { ...this.#options, onWritten: lasts } : this.#options;
      await this.#store.write(this.#path, this.#text(), options);
      lasts();
      this.#failure = undefined;
      this.#retryMs = firstRetryMs;
    } catch (error) {
      lasts(error);
      this.#failure = error;
      if (this.#stopped || this.#isPending) return;
      this.#cancelRetry();
      this.#retry = this.#store.clock.setTimer(this.#retryMs, () => {
        this.#retry = undefined;
        if (!this.#isPending) this.#begin();
      });
      this.#retryMs = Math.min(this.#retryMs * 2, longestRetryMs);
    }
  }

  #cancelRetry(): void {
    this.#retry?.cancel();
    this.#retry = undefined;
  }
}
