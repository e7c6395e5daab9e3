/** Trace contexts on the wire: the headers by which one program tells another in which span it calls. */
import { traceLimits } from './limits.js';

/** A span, as other programs know it. */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  /** Whether the spans of the trace are kept. */
  readonly sampled: boolean;
  /** What vendors say of the trace: the header `tracestate`. */
  readonly state?: string;
}

/** The span that a request was made in, and what its sender wants to be passed on. */
export interface CallerTrace {
  readonly context: TraceContext;
  readonly baggage?: string;
}

/** By lower-case name. */
export type TraceHeaders = Readonly<Record<string, string>>;

/** Version, trace, span and flags (Trace Context, section 3.2); a later version may add to it. */
const traceparent = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const printable = /^[\x20-\x7e]+$/;

/** Undefined when there is no usable one. Whoever sent it may be anybody, so what is not well-formed is dropped. */
export function readTrace(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): CallerTrace | undefined {
  const { traceparent: given, tracestate, baggage } = headers;
  if (typeof given !== 'string' || given.length > traceLimits.stateChars) return undefined;
  const [, version = '', traceId = '', spanId = '', flags = '', more] = traceparent.exec(given) ?? [];
  if (version === '' || version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  const sampled = (Number.parseInt(flags, 16) & 1) === 1;
  const state = passable(tracestate, traceLimits.stateChars);
  const context = { traceId, spanId, sampled, ...(state === undefined ? {} : { state }) };
  const carried = passable(baggage, traceLimits.baggageChars);
  return { context, ...(carried === undefined ? {} : { baggage: carried }) };
}

export function traceHeaders({ context, baggage }: CallerTrace): TraceHeaders {
  const { traceId, spanId, sampled, state } = context;
  return {
    traceparent: `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`,
    ...(state === undefined ? {} : { tracestate: state }),
    ...(baggage === undefined ? {} : { baggage }),
  };
}

function passable(value: string | string[] | undefined, limit: number): string | undefined {
  return typeof value === 'string' && value.length <= limit && printable.test(value) ? value : undefined;
}
