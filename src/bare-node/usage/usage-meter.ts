/**
 * Measures what the node and its pods use, when somebody asks. Two readings of the kubelet's own statistics make a
 * window: the last one that was asked for is its beginning, unless that is too long ago. Nothing is read between.
 */
import { type Clock, errorText, isCancelled, sleep } from '../../async/index.js';
import type { NodeUsage, UsageReader } from '../../kube-api/index.js';
import { ApiError } from '../../kube-client/index.js';
import type { StatsProvider, Summary } from '../../resources/stats/index.js';
import { leastWindowMs, longestWindowMs, usageBetween } from './usage-window.js';

export interface UsageMeterOptions {
  readonly nodeName: string;
  readonly clock: Clock;
  /** Undefined while the node starts. */
  readonly stats: () => Pick<StatsProvider, 'summary'> | undefined;
  /** Ends a wait for the end of a window. */
  readonly signal: AbortSignal;
}

interface UsageReading {
  readonly takenMs: number;
  readonly summary: Summary;
}

/** Longer than readings are shared by those who ask at the same time. */
const firstWindowMs = leastWindowMs + 250;

export class UsageMeter implements UsageReader {
  readonly #options: UsageMeterOptions;
  #last: UsageReading | undefined;
  #told: { readonly takenMs: number; readonly usage: NodeUsage } | undefined;
  #underway: Promise<NodeUsage> | undefined;

  constructor(options: UsageMeterOptions) {
    this.#options = options;
  }

  get nodeName(): string {
    return this.#options.nodeName;
  }

  /** Those who ask at the same time, or in the same second, share an answer. */
  read(): Promise<NodeUsage> {
    this.#underway ??= this.#measure().finally(() => {
      this.#underway = undefined;
    });
    return this.#underway;
  }

  async #measure(): Promise<NodeUsage> {
    const { clock, signal } = this.#options;
    const nowMs = clock.monotonic();
    if (this.#told !== undefined && nowMs - this.#told.takenMs < firstWindowMs) return this.#told.usage;
    let before = this.#last;
    if (before === undefined || nowMs - before.takenMs > longestWindowMs) {
      before = await this.#take();
      await sleep(clock, firstWindowMs, signal).catch(nodeStops);
    }
    const last = await this.#take();
    const usage = usageBetween(before.summary, last.summary);
    this.#last = last;
    this.#told = { takenMs: last.takenMs, usage };
    return usage;
  }

  async #take(): Promise<UsageReading> {
    const stats = this.#options.stats();
    if (stats === undefined) throw unavailable('the node is still starting; try again in a moment');
    const takenMs = this.#options.clock.monotonic();
    try {
      return { takenMs, summary: await stats.summary({ onlyCpuAndMemory: true, rates: false }) };
    } catch (error) {
      throw unavailable(`the statistics of the node cannot be read: ${errorText(error)}`);
    }
  }
}

function nodeStops(error: unknown): never {
  throw isCancelled(error) ? unavailable('the node stops') : error;
}

function unavailable(message: string): ApiError {
  return new ApiError({ code: 503, reason: 'ServiceUnavailable', message, retryAfterSeconds: 1 });
}
