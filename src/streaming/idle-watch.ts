/** Detects that a connection was idle for too long. */
import type { Clock, Timer } from '../async/index.js';

export interface IdleWatchOptions {
  readonly clock: Clock;
  /** Undefined: no limit. */
  readonly idleTimeoutMs: number | undefined;
  readonly onIdle: (reason: Error) => void;
}

export class IdleWatch {
  readonly #options: IdleWatchOptions;
  #lastActivityMs: number;
  #timer: Timer | undefined;

  constructor(options: IdleWatchOptions) {
    this.#options = options;
    this.#lastActivityMs = options.clock.monotonic();
    if (options.idleTimeoutMs !== undefined) this.#wait(options.idleTimeoutMs, options.idleTimeoutMs);
  }

  touch(): void {
    this.#lastActivityMs = this.#options.clock.monotonic();
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #wait(delayMs: number, idleTimeoutMs: number): void {
    const { clock, onIdle } = this.#options;
    this.#timer = clock.setTimer(delayMs, () => {
      const idleMs = clock.monotonic() - this.#lastActivityMs;
      if (idleMs < idleTimeoutMs) this.#wait(idleTimeoutMs - idleMs, idleTimeoutMs);
      else onIdle(new Error(`the connection was idle for ${Math.round(idleTimeoutMs / 1000)} s`));
    });
  }
}
