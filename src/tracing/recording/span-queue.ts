/** The spans that wait for the collector: bounded, sent in batches, and dropped rather than in anybody's way. */
import { type Clock, isCancelled, sleep, WakeableSleep } from '../../async/index.js';
import { traceLimits } from '../limits.js';
import type { TracingMetrics } from './metrics.js';
import { type FinishedSpan, spanBytes } from './recorded-span.js';

export type ExportOutcome =
  | { readonly kind: 'done'; readonly rejected: number }
  /** `canRetry`: the same spans may be accepted later. */
  | { readonly kind: 'failed'; readonly message: string; readonly canRetry: boolean };

/** Sends spans to a collector. Never rejects, but when the signal is aborted. */
export interface SpanExporter {
  export(spans: readonly FinishedSpan[], signal: AbortSignal): Promise<ExportOutcome>;
  close(): void;
}

export interface SpanQueueOptions {
  readonly clock: Clock;
  readonly exporter: SpanExporter;
  readonly metrics: TracingMetrics;
  /** Told of the first of several failures, and with how many spans were lost when it works again. */
  readonly onState: (state: { readonly failed?: string; readonly lostSpans?: number }) => void;
}

const shortestPauseMs = 1_000;
const longestPauseMs = 30_000;

export class SpanQueue {
  readonly #options: SpanQueueOptions;
  readonly #waiting: FinishedSpan[] = [];
  readonly #pause = new WakeableSleep();
  #waitingBytes = 0;
  #isFailing = false;
  #lost = 0;

  constructor(options: SpanQueueOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#waiting.length;
  }

  add(span: FinishedSpan): void {
    const bytes = spanBytes(span);
    if (
      this.#waiting.length >= traceLimits.waitingSpans ||
      this.#waitingBytes + bytes > traceLimits.waitingBytes
    ) {
      this.#drop(1, 'queue full');
      return;
    }
    this.#waiting.push(span);
    this.#waitingBytes += bytes;
    this.#options.metrics.waiting.set(this.#waiting.length);
    if (this.#hasBatch()) this.#pause.wake();
  }

  /** Exports until the signal is aborted; rejects with `Cancelled` then. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    for (;;) {
      if (!this.#hasBatch()) await this.#pause.sleep(clock, traceLimits.batchDelayMs, signal);
      await this.#exportNext(signal);
    }
  }

  /** Exports what waits, without a second try; what is left when the signal is aborted is dropped. */
  async flush(signal: AbortSignal): Promise<void> {
    const { exporter } = this.#options;
    try {
      while (this.#waiting.length > 0) {
        const batch = this.#take();
        if (!this.#settle(batch, await this.#attempt(exporter, batch, signal))) break;
      }
    } catch (error) {
      if (!isCancelled(error)) throw error;
    }
    this.#drop(this.#waiting.splice(0).length, 'agent stopped');
  }

  async #exportNext(signal: AbortSignal): Promise<void> {
    const { clock, exporter } = this.#options;
    const batch = this.#take();
    if (batch.length === 0) return;
    let pauseMs = shortestPauseMs;
    for (let tries = 1; ; tries++) {
      const outcome = await this.#attempt(exporter, batch, signal);
      const isLast = outcome.kind === 'done' || !outcome.canRetry || tries >= traceLimits.exportTries;
      if (isLast) {
        this.#settle(batch, outcome);
        return;
      }
      this.#tellFailure(outcome.message);
      try {
        await sleep(clock, pauseMs, signal);
      } catch (error) {
        this.#putBack(batch);
        throw error;
      }
      pauseMs = Math.min(2 * pauseMs, longestPauseMs);
    }
  }

  async #attempt(
    exporter: SpanExporter,
    batch: readonly FinishedSpan[],
    signal: AbortSignal,
  ): Promise<ExportOutcome> {
    try {
      return await exporter.export(batch, signal);
    } catch (error) {
      this.#putBack(batch);
      throw error;
    }
  }

  /** Returns whether the collector took the spans. */
  #settle(batch: readonly FinishedSpan[], outcome: ExportOutcome): boolean {
    const { metrics, onState } = this.#options;
    if (outcome.kind === 'failed') {
      this.#drop(batch.length, 'export failed');
      this.#tellFailure(outcome.message);
      return false;
    }
    metrics.exported.inc({}, batch.length - outcome.rejected);
    this.#drop(outcome.rejected, 'rejected');
    if (this.#isFailing) {
      this.#isFailing = false;
      onState({ lostSpans: this.#lost });
      this.#lost = 0;
    }
    return true;
  }

  #tellFailure(message: string): void {
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.#options.onState({ failed: message });
  }

  /** Whether what waits fills one export, by number or by size. */
  #hasBatch(): boolean {
    return this.#waiting.length >= traceLimits.batchSpans || this.#waitingBytes >= traceLimits.batchBytes;
  }

  /** As many as one export may hold. */
  #take(): FinishedSpan[] {
    let bytes = 0;
    let count = 0;
    for (const span of this.#waiting) {
      bytes += spanBytes(span);
      if (count >= traceLimits.batchSpans || (count > 0 && bytes > traceLimits.batchBytes)) break;
      count++;
    }
    const batch = this.#waiting.splice(0, count);
    this.#waitingBytes -= batch.reduce((sum, span) => sum + spanBytes(span), 0);
    this.#options.metrics.waiting.set(this.#waiting.length);
    return batch;
  }

  /** The last exports of a stopping agent try them once more. */
  #putBack(batch: readonly FinishedSpan[]): void {
    this.#waiting.unshift(...batch);
    this.#waitingBytes += batch.reduce((sum, span) => sum + spanBytes(span), 0);
  }

  #drop(count: number, cause: 'queue full' | 'export failed' | 'rejected' | 'agent stopped'): void {
    if (count === 0) return;
    this.#lost += count;
    this.#options.metrics.dropped.inc({ cause }, count);
  }
}
