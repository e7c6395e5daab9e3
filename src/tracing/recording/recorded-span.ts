/** One span while it lasts, within its limits, and what is left of it for the export. */
import { traceLimits } from '../limits.js';
import type { CallerTrace, TraceContext } from '../trace-context.js';
import type { Attributes, Span, SpanInit } from '../tracer.js';

export type AttributeValue = string | number | boolean;

/** With what was left out because of a limit. */
interface KeptAttributes {
  readonly attributes: ReadonlyMap<string, AttributeValue>;
  readonly droppedAttributes: number;
}

export interface SpanEvent extends KeptAttributes {
  readonly name: string;
  readonly timeMs: number;
}

/** Times are milliseconds since 1970, with a fraction. */
export interface FinishedSpan extends KeptAttributes {
  readonly context: TraceContext;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: NonNullable<SpanInit['kind']>;
  readonly startMs: number;
  readonly endMs: number;
  readonly events: readonly SpanEvent[];
  readonly droppedEvents: number;
  readonly links: readonly TraceContext[];
  readonly failure: string | undefined;
}

export interface RecordedSpanOptions {
  readonly trace: CallerTrace;
  readonly parentSpanId: string | undefined;
  readonly links: readonly TraceContext[];
  readonly init: Pick<SpanInit, 'name' | 'kind' | 'attributes'>;
  readonly startMs: number;
  readonly nowMs: () => number;
  readonly onEnd: (finished: FinishedSpan) => void;
}

/** A span of a trace that is not sampled keeps nothing, but others can be below it. */
export class RecordedSpan implements Span {
  readonly trace: CallerTrace;
  readonly startMs: number;
  readonly #options: RecordedSpanOptions;
  readonly #attributes = new Map<string, AttributeValue>();
  readonly #events: SpanEvent[] = [];
  #droppedAttributes = 0;
  #droppedEvents = 0;
  #failure: string | undefined;
  #isEnded = false;

  constructor(options: RecordedSpanOptions) {
    this.#options = options;
    this.trace = options.trace;
    this.startMs = options.startMs;
    if (options.init.attributes !== undefined) this.set(options.init.attributes);
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  set(attributes: Attributes): void {
    if (this.#isDeaf) return;
    this.#droppedAttributes += keep(attributes, this.#attributes);
  }

  event(name: string, attributes: Attributes = {}): void {
    if (this.#isDeaf) return;
    if (this.#events.length >= traceLimits.events) {
      this.#droppedEvents++;
      return;
    }
    const kept = new Map<string, AttributeValue>();
    const droppedAttributes = keep(attributes, kept);
    this.#events.push({ name, timeMs: this.#options.nowMs(), attributes: kept, droppedAttributes });
  }

  fail(message: string): void {
    if (!this.#isDeaf) this.#failure ??= cut(message);
  }

  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    const { trace, parentSpanId, init, startMs, nowMs, onEnd, links } = this.#options;
    if (!trace.context.sampled) return;
    onEnd({
      context: trace.context,
      parentSpanId,
      name: cut(init.name),
      kind: init.kind ?? 'internal',
      startMs,
      endMs: Math.max(startMs, nowMs()),
      attributes: this.#attributes,
      droppedAttributes: this.#droppedAttributes,
      events: this.#events,
      droppedEvents: this.#droppedEvents,
      links: links.slice(0, traceLimits.links),
      failure: this.#failure,
    });
  }

  get #isDeaf(): boolean {
    return this.#isEnded || !this.trace.context.sampled;
  }
}

/** Adds them within the limit; returns how many had no place. */
function keep(attributes: Attributes, kept: Map<string, AttributeValue>): number {
  let dropped = 0;
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined) continue;
    if (kept.size >= traceLimits.attributes && !kept.has(key)) dropped++;
    else kept.set(key, typeof value === 'string' ? cut(value) : value);
  }
  return dropped;
}

function cut(text: string): string {
  return text.length <= traceLimits.textChars ? text : `${text.slice(0, traceLimits.textChars)}…`;
}

const spanCostBytes = 256;
const entryCostBytes = 16;

/** About what a span takes in memory and on the wire. */
export function spanBytes({ name, attributes, events, links, failure = '' }: FinishedSpan): number {
  const ofAttributes = (kept: KeptAttributes['attributes']): number =>
    [...kept].reduce((sum, [key, value]) => sum + entryCostBytes + key.length + textBytesOf(value), 0);
  return (
    spanCostBytes +
    name.length +
    failure.length +
    ofAttributes(attributes) +
    links.length * 64 +
    events.reduce(
      (sum, event) => sum + entryCostBytes + event.name.length + ofAttributes(event.attributes),
      0,
    )
  );
}

/** A character takes up to three bytes on the wire. */
function textBytesOf(value: AttributeValue): number {
  return typeof value === 'string' ? 3 * value.length : 8;
}
