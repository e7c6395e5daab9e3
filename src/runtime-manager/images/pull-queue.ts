/** Limits pulls: how many run in parallel, and how many start per second. */
import { type Clock, Gate, throwIfCancelled } from '../../async/index.js';

export interface PullQueueOptions {
  /** 1 pulls one image at a time; undefined or less than 1: no limit. */
  readonly maxParallelPulls?: number | undefined;
  /** Absent: no rate limit. */
  readonly rate?: PullRate | undefined;
}

/** Runs pulls in request order; callers beyond the limit wait for a slot. */
export class PullQueue {
  readonly #gate: Gate | undefined;
  readonly #rate: PullRate | undefined;

  constructor({ maxParallelPulls, rate }: PullQueueOptions = {}) {
    this.#rate = rate;
    this.#gate =
      maxParallelPulls === undefined || maxParallelPulls < 1 ? undefined : new Gate(maxParallelPulls);
  }

  get waiting(): number {
    return this.#gate?.waiting ?? 0;
  }

  /**
   * Rejects with `pull QPS exceeded` when the rate is used up, with Cancelled when the signal is aborted
   * while queued.
   */
  async run<T>(pull: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    throwIfCancelled(signal);
    const limited = async (): Promise<T> => {
      if (this.#rate?.tryTake() === false) throw new Error('pull QPS exceeded');
      return await pull();
    };
    if (this.#gate === undefined) return await limited();
    return await this.#gate.run(limited, signal === undefined ? {} : { signal });
  }
}

export interface PullRateOptions {
  /** Pulls per second on average; 0: no limit. */
  readonly qps: number;
  /** Pulls that may start at once after an idle time. */
  readonly burst: number;
  readonly clock: Clock;
}

/** A token bucket that rejects instead of waiting. */
export class PullRate {
  readonly #options: PullRateOptions;
  #tokens: number;
  #filledAtMs: number;

  constructor(options: PullRateOptions) {
    this.#options = options;
    this.#tokens = options.burst;
    this.#filledAtMs = options.clock.monotonic();
  }

  tryTake(): boolean {
    const { qps, burst, clock } = this.#options;
    if (qps <= 0) return true;
    const nowMs = clock.monotonic();
    this.#tokens = Math.min(burst, this.#tokens + ((nowMs - this.#filledAtMs) / 1000) * qps);
    this.#filledAtMs = nowMs;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}
