/** Tells a follower of a log when to check the file again. */
import { type FSWatcher, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { Cancelled, type Clock } from '../../async/index.js';

/** Catches whatever the file system does not report. */
const forcedCheckMs = 1000;
/** A failed watcher is reopened this many times; after that only the forced checks remain. */
const toleratedErrors = 5;

export interface LogWatchOptions {
  readonly clock: Clock;
  /**
   * Called once when watching has failed for good, as on a node without free watches, and the file is polled
   * every second.
   */
  readonly onPolling?: (error: unknown) => void;
  /** Defaults to Node's. */
  readonly watch?: typeof watch;
}

export class LogWatch {
  readonly #path: string;
  readonly #options: LogWatchOptions;
  #watcher: FSWatcher | undefined;
  #errors = 0;
  /** Something changed since the last wait. */
  #changed = false;
  #wake: (() => void) | undefined;

  constructor(path: string, options: LogWatchOptions) {
    this.#path = path;
    this.#options = options;
    this.#open();
  }

  /** Resolves when the file changes, after a second at the latest. */
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
      // ENOSPC and EMFILE: the node has no free watches; ENOENT: the directory is gone.
      this.#watcher = undefined;
      this.#options.onPolling?.(error);
    }
  }

  #watch(): FSWatcher {
    const name = basename(this.#path);
    const open = this.#options.watch ?? watch;
    // Watch the directory, since a file that replaces the log has no watch of its own yet.
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
