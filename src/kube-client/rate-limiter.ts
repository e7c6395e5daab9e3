/** A token bucket for requests, in which urgent ones overtake queued ones. */
import { Cancelled, type Clock, type Timer } from '../async/index.js';
import { ApiUnreachable } from './api-error.js';
import type { RequestPriority } from './port.js';

export interface RateLimiter {
  /** Resolves when the request may be sent. */
  acquire(priority: RequestPriority, signal?: AbortSignal): Promise<void>;
}

export const unlimited: RateLimiter = { acquire: async () => undefined };

export interface TokenBucketOptions {
  readonly clock: Clock;
  /** Requests per second on average. */
  readonly qps: number;
  /** Requests that may be sent at once after an idle time. */
  readonly burst: number;
}

/** More than any node needs; further requests fail at once. */
const mostWaiting = 10_000;
const ranks: Readonly<Record<RequestPriority, number>> = { urgent: 0, normal: 1, background: 2 };

interface RateLimitWaiter {
  readonly rank: number;
  readonly go: () => void;
}

export class TokenBucket implements RateLimiter {
  readonly #clock: Clock;
  readonly #qps: number;
  readonly #burst: number;
  readonly #waiters: RateLimitWaiter[] = [];
  #tokens: number;
  #countedMs: number;
  #timer: Timer | undefined;

  constructor({ clock, qps, burst }: TokenBucketOptions) {
    if (!(qps > 0) || !(burst >= 1)) {
      throw new RangeError(`a rate limit needs qps > 0 and burst >= 1; these are ${qps} and ${burst}`);
    }
    this.#clock = clock;
    this.#qps = qps;
    this.#burst = burst;
    this.#tokens = burst;
    this.#countedMs = clock.monotonic();
  }

  get waiting(): number {
    return this.#waiters.length;
  }

  acquire(priority: RequestPriority, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.reject(new Cancelled());
    this.#refill();
    if (this.#waiters.length === 0 && this.#tokens >= 1) {
      this.#tokens--;
      return Promise.resolve();
    }
    if (this.#waiters.length >= mostWaiting) {
      return Promise.reject(
        new ApiUnreachable(`${mostWaiting} requests are waiting for the rate limit`, 'not-sent'),
      );
    }
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        const index = this.#waiters.indexOf(waiter);
        if (index >= 0) this.#waiters.splice(index, 1);
        if (this.#waiters.length === 0) this.#disarm();
        reject(new Cancelled());
      };
      const waiter: RateLimitWaiter = {
        rank: ranks[priority],
        go: () => {
          signal?.removeEventListener('abort', onAbort);
          resolve();
        },
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      const behind = this.#waiters.findIndex((other) => other.rank > waiter.rank);
      this.#waiters.splice(behind < 0 ? this.#waiters.length : behind, 0, waiter);
      this.#arm();
    });
  }

  #refill(): void {
    const nowMs = this.#clock.monotonic();
    this.#tokens = Math.min(this.#burst, this.#tokens + ((nowMs - this.#countedMs) / 1000) * this.#qps);
    this.#countedMs = nowMs;
  }

  #arm(): void {
    if (this.#timer !== undefined) return;
    const missingMs = Math.max(0, ((1 - this.#tokens) / this.#qps) * 1000);
    this.#timer = this.#clock.setTimer(Math.ceil(missingMs), () => {
      this.#timer = undefined;
      this.#refill();
      while (this.#tokens >= 1) {
        const next = this.#waiters.shift();
        if (next === undefined) return;
        this.#tokens--;
        next.go();
      }
      if (this.#waiters.length > 0) this.#arm();
    });
  }

  #disarm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}
