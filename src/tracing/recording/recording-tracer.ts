/** The tracer of an agent whose tracing is on: makes spans, knows which of them is open where, and hands on those that ended. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import type { Clock } from '../../async/index.js';
import { type CallerTrace, type TraceContext, traceHeaders } from '../trace-context.js';
import type { Span, SpanInit, Tracer } from '../tracer.js';
import type { PodTraces } from './pod-traces.js';
import { type FinishedSpan, RecordedSpan } from './recorded-span.js';
import { isSampled } from './sampling.js';

export interface RecordingTracerOptions {
  readonly clock: Clock;
  readonly samplingRatePerMillion: number;
  readonly onEnd: (span: FinishedSpan) => void;
  /** So many random bytes, in hexadecimal. */
  readonly randomId?: (bytes: number) => string;
}

/** A span that is made after the fact, or whose place is known. */
export interface PlacedSpan extends Pick<SpanInit, 'name' | 'kind' | 'attributes'> {
  readonly parent: CallerTrace | undefined;
  readonly links?: readonly TraceContext[];
  readonly startMs?: number;
}

/** How far the wall clock may be away from what was expected before it counts as set. */
const clockStepMs = 1000;

export class RecordingTracer implements Tracer {
  readonly isRecording = true;
  readonly #options: RecordingTracerOptions;
  readonly #randomId: (bytes: number) => string;
  readonly #active = new AsyncLocalStorage<RecordedSpan>();
  #pods: PodTraces | undefined;
  #wallAtZeroMs: number;

  constructor(options: RecordingTracerOptions) {
    this.#options = options;
    this.#randomId = options.randomId ?? ((bytes) => randomBytes(bytes).toString('hex'));
    this.#wallAtZeroMs = options.clock.now() - options.clock.monotonic();
  }

  /** Who knows to which trace the step of a pod belongs. */
  follow(pods: PodTraces): void {
    this.#pods = pods;
  }

  begin(init: SpanInit): Span {
    const { pod, caller, isRoot = false, isReport = false } = init;
    if (isRoot) {
      const links = caller === undefined ? [] : [caller.context];
      return this.place({ ...init, parent: undefined, links });
    }
    if (caller !== undefined) return this.place({ ...init, parent: caller });
    if (pod === undefined || this.#pods === undefined)
      return this.place({ ...init, parent: this.#current() });
    const { parent, links } = this.#pods.placeOf(pod.uid, isReport);
    const span = this.place({ ...init, parent, links });
    if (!isReport) this.#pods.stepBegan(pod.uid, span);
    return span;
  }

  place({ parent, links = [], startMs = this.nowMs(), ...init }: PlacedSpan): RecordedSpan {
    const traceId = parent?.context.traceId ?? this.#randomId(16);
    const sampled = isSampled(traceId, parent?.context, this.#options.samplingRatePerMillion);
    const state = parent?.context.state;
    const context: TraceContext = {
      traceId,
      spanId: this.#randomId(8),
      sampled,
      ...(state === undefined ? {} : { state }),
    };
    const baggage = parent?.baggage;
    return new RecordedSpan({
      trace: { context, ...(baggage === undefined ? {} : { baggage }) },
      parentSpanId: parent?.context.spanId,
      links,
      init,
      startMs,
      nowMs: () => this.nowMs(),
      onEnd: this.#options.onEnd,
    });
  }

  within<T>(span: Span, work: () => T): T {
    return span instanceof RecordedSpan ? this.#active.run(span, work) : work();
  }

  headers(): ReturnType<Tracer['headers']> {
    const trace = this.#current();
    return trace === undefined ? undefined : traceHeaders(trace);
  }

  /** Wall-clock milliseconds that are as fine as the monotonic clock, and follow the wall clock when it is set. */
  nowMs(): number {
    const { clock } = this.#options;
    const expected = this.#wallAtZeroMs + clock.monotonic();
    const wall = clock.now();
    if (Math.abs(wall - expected) <= clockStepMs) return expected;
    this.#wallAtZeroMs = wall - clock.monotonic();
    return wall;
  }

  /** What a step left running is not below the step any more once that has ended: it may run for days. */
  #current(): CallerTrace | undefined {
    const span = this.#active.getStore();
    return span === undefined || span.isEnded ? undefined : span.trace;
  }
}
