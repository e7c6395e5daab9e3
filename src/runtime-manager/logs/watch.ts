/** Tells a follower of a log when it is worth looking at the file again. */
import { type FSWatcher, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { Cancelled, type Clock } from '../../async/index.js';

/** Whatever the file system fails to tell is seen after this time. */
const forcedCheckMs = 1000;
/** A watcher that failed is opened again this many times; then the forced checks go on alone. */
const toleratedErrors = 5;

export interface LogWatchOptions {
  readonly clock: Clock;
  /** Told once when nobody tells of changes any more, such as on a node that has no watches left, and the file is looked at every second. */
  readonly onPolling?: (error: unknown) => void;
  /** Node's own. */
  readonly watch?: typeof watch;
}

export class LogWatch {
  readonly #path: string;
  readonly #options: LogWatchOptions;
  #watcher: FSWatcher | undefined;
  #errors = 0;
  /** Something happened since the last wait. */
  #changed = false;
  #wake: (() => void) | undefined;

  constructor(path: string, options: LogWatchOptions) {
    this.#path = path;
    this.#options = options;
    this.#open();
  }

  /** Resolves on a change of the file, at the latest after a second. */
  async wait(signal: AbortSignal | undefined): Promise<void> {
    if (!this.#changed) await this.#sleep(signal);
    this.#changed = false;
  }

  close(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
  }

  #open(): void {
    try {
      this.#watcher = this.#watch();
    } catch (error) {
      // ENOSPC and EMFILE where all watches of the node are taken; ENOENT where the folder is gone.
      this.#watcher = undefined;
      this.#options.onPolling?.(error);
    }
  }

  #watch(): FSWatcher {
    const name = basename(this.#path);
    const open = this.#options.watch ?? watch;
    // The folder is watched, since a file that takes the log's place has no watch of its own yet.
    const watcher = open(dirname(this.#path), { persistent: false }, (_, changed) => {
      if (changed === null || changed === name) this.#notify();
    });
    watcher.on('error', (error) => {
      watcher.close();
      this.#watcher = undefined;
      this.#errors++;
      if (this.#errors <= toleratedErrors) this.#open();
      else this.#options.onPolling?.(error);
      this.#notify();
    });
    return watcher;
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
      const timer = this.#options.clock.setTimer(forcedCheckMs, () => this.#wake?.());
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }
}
