/** Refuses calls of a served socket that come too fast, all clients and services of the socket together. */
import type { Clock } from '../async/index.js';
import { GrpcError } from './errors.js';

export class CallRate {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #perSecond: number;
  readonly #burst: number;
  #left: number;
  #atMs: number;

  constructor(clock: Pick<Clock, 'monotonic'>, { perSecond = 100, burst = 10 } = {}) {
    this.#clock = clock;
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#left = burst;
    this.#atMs = clock.monotonic();
  }

  /** Throws what the client is told; otherwise the call counts. */
  admit(): void {
    const nowMs = this.#clock.monotonic();
    this.#left = Math.min(this.#burst, this.#left + ((nowMs - this.#atMs) / 1000) * this.#perSecond);
    this.#atMs = nowMs;
    if (this.#left < 1) throw new GrpcError('ResourceExhausted', 'rejected by rate limit');
    this.#left--;
  }
}
