/** Tells a follower of a log when it is worth looking at the file again. */
import { type FSWatcher, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { Cancelled, type Clock } from '../../async/index.js';

/** Whatever the file system fails to tell is seen after this time. */
const forcedCheckMs = 1000;
const toleratedErrors = 5;

export class LogWatch {
  readonly #path: string;
  readonly #clock: Clock;
  #watcher: FSWatcher | undefined;
  #errors = 0;
  #error: Error | undefined;
  /** Something happened since the last wait. */
  #changed = false;
  #wake: (() => void) | undefined;

  constructor(path: string, clock: Clock) {
    this.#path = path;
    this.#clock = clock;
    this.#open();
  }

  /** Resolves on a change of the file, at the latest after a second; fails after too many errors of the watcher. */
  async wait(signal: AbortSignal | undefined): Promise<void> {
    if (!this.#changed && this.#error === undefined) await this.#sleep(signal);
    this.#changed = false;
    if (this.#error !== undefined) throw this.#error;
  }

  close(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
  }

  #open(): void {
    const name = basename(this.#path);
    // The folder is watched, since a file that takes the log's place has no watch of its own yet.
    const watcher = watch(dirname(this.#path), { persistent: false }, (_, changed) => {
      if (changed === null || changed === name) this.#notify();
    });
    watcher.on('error', (error) => {
      watcher.close();
      this.#errors++;
      if (this.#errors > toleratedErrors) this.#error = error;
      else this.#reopen();
      this.#notify();
    });
    this.#watcher = watcher;
  }

  #reopen(): void {
    try {
      this.#open();
    } catch (error) {
      // The forced checks go on without a watcher, as when the folder is gone.
      this.#watcher = undefined;
      this.#error = this.#errors >= toleratedErrors && error instanceof Error ? error : undefined;
    }
  }

  #notify(): void {
    this.#changed = true;
    this.#wake?.();
  }

  #sleep(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(new Cancelled('context cancelled'));
        return;
      }
      const end = (): void => {
        timer.cancel();
        signal?.removeEventListener('abort', onAbort);
        this.#wake = undefined;
      };
      const onAbort = (): void => {
        end();
        reject(new Cancelled('context cancelled'));
      };
      this.#wake = () => {
        end();
        resolve();
      };
      const timer = this.#clock.setTimer(forcedCheckMs, () => this.#wake?.());
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }
}
