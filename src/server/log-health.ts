/** The `log` health check: an unwritable log hides everything else, so it is flushed regularly. */
import { type Clock, errorText, type Timer } from '../async/index.js';
import type { HealthCheck } from './contracts.js';

const flushPeriodMs = 60_000;
const blockedAfterMs = 120_000;

export class LogHealth implements HealthCheck {
  readonly name = 'log';
  readonly #clock: Clock;
  readonly #flush: () => Promise<void>;
  #flushedAtMs: number;
  #timer: Timer | undefined;
  #state: 'new' | 'running' | 'stopped' = 'new';
  #lastFailure: string | undefined;

  constructor(clock: Clock, flush: () => Promise<void>) {
    this.#clock = clock;
    this.#flush = flush;
    this.#flushedAtMs = clock.monotonic();
  }

  check(): string | undefined {
    if (this.#clock.monotonic() - this.#flushedAtMs <= blockedAfterMs) return undefined;
    return this.#lastFailure === undefined ? 'logging blocked' : `logging blocked: ${this.#lastFailure}`;
  }

  start(): void {
    if (this.#state !== 'new') return;
    this.#state = 'running';
    this.#flushOnce();
  }

  /** Leaves no timer; does not wait for a hung flush, since nothing could end it. */
  stop(): void {
    this.#state = 'stopped';
    this.#timer?.cancel();
  }

  #flushOnce(): void {
    this.#flush()
      .then(
        () => {
          this.#flushedAtMs = this.#clock.monotonic();
          this.#lastFailure = undefined;
        },
        (error: unknown) => {
          this.#lastFailure = errorText(error);
        },
      )
      .finally(() => {
        if (this.#state !== 'running') return;
        this.#timer = this.#clock.setTimer(flushPeriodMs, () => this.#flushOnce());
      });
  }
}

/** Resolves when everything written to stderr so far was handed to the system. */
export function flushStderr(): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stderr.write('', (error) => (error ? reject(error) : resolve()));
  });
}
