/** Follows the runtime's container events, so that changes are seen when they happen. */
import { Cancelled, type Clock, isCancelled, sleep } from '../../async/index.js';
import { faultText, recogniseFault } from '../../cri/index.js';
import type { Timeline } from '../../timeline/index.js';
import type { PlegMetrics } from '../metrics.js';
import type { RuntimeEvent, RuntimeEventSource, RuntimeEventSourceFactory } from './event-sources.js';

export interface RuntimeEventsOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly sources: readonly RuntimeEventSourceFactory[];
  readonly metrics: Pick<PlegMetrics, 'streamConnections' | 'streamErrors' | 'eventLatency'>;
  readonly onEvent: (event: RuntimeEvent) => void;
  /** Called when the stream connects or breaks; either way events may have been missed. */
  readonly onHealthChange: () => void;
}

const retryInitialMs = 100;
const retryMaxMs = 5_000;
/** A stream that has not failed within this time counts as connected. */
const settledAfterMs = 50;

export class RuntimeEvents {
  readonly #options: RuntimeEventsOptions;
  #healthy = false;
  #lastProblem = '';

  constructor(options: RuntimeEventsOptions) {
    this.#options = options;
  }

  get healthy(): boolean {
    return this.#healthy;
  }

  /** Follows the first source that the runtime supports; returns when it supports none. */
  async run(signal: AbortSignal): Promise<void> {
    const sources = this.#options.sources.map((create) => create());
    let delayMs = retryInitialMs;
    while (sources.length > 0) {
      const source = sources[0];
      if (source === undefined) return;
      const outcome = await this.#follow(source, signal);
      if (outcome === 'unimplemented') {
        sources.shift();
        continue;
      }
      delayMs = outcome === 'stood' ? retryInitialMs : Math.min(delayMs * 2, retryMaxMs);
      await sleep(this.#options.clock, delayMs, signal);
    }
    this.#options.timeline.record({
      kind: 'notice',
      what: 'pleg.events',
      message:
        this.#options.sources.length === 0
          ? 'polling the runtime; its events are not asked for'
          : 'the runtime supports no events; polling it instead',
    });
  }

  async #follow(
    source: RuntimeEventSource,
    signal: AbortSignal,
  ): Promise<'unimplemented' | 'stood' | 'failed'> {
    const { clock, timeline, metrics, onEvent } = this.#options;
    let stood = false;
    const stand = (): void => {
      if (stood) return;
      stood = true;
      this.#lastProblem = '';
      timeline.record({ kind: 'notice', what: 'pleg.events', message: `following ${source.name}` });
      metrics.streamConnections.inc();
      this.#setHealthy(true);
    };
    const timer = clock.setTimer(settledAfterMs, stand);
    try {
      for await (const event of source.events(signal)) {
        stand();
        const { happenedAtMs } = event;
        if (happenedAtMs !== undefined)
          metrics.eventLatency.observe(Math.max(0, clock.now() - happenedAtMs) / 1000);
        onEvent(event);
      }
      throw new Error('the stream ended');
    } catch (error) {
      if (isCancelled(error) || signal.aborted) throw new Cancelled(undefined, { cause: error });
      const fault = recogniseFault({ seen: 'events', error });
      if (fault === undefined) return 'unimplemented';
      metrics.streamErrors.inc();
      const problem = error instanceof Error ? error.message : String(error);
      if (problem !== this.#lastProblem) {
        this.#lastProblem = problem;
        timeline.record({
          kind: 'problem',
          what: 'pleg.events',
          message: `${source.name} broke; ${faultText(fault)}`,
          level: 'warn',
          data: { fault },
          error,
        });
      }
      return stood ? 'stood' : 'failed';
    } finally {
      timer.cancel();
      this.#setHealthy(false);
    }
  }

  #setHealthy(healthy: boolean): void {
    if (this.#healthy === healthy) return;
    this.#healthy = healthy;
    this.#options.onHealthChange();
  }
}
