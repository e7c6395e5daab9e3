/** Sends spans to a collector: OTLP over gRPC. */
import { Cancelled } from '../../async/index.js';
import { asGrpcError, type GrpcCodeName, GrpcConnection, type Init } from '../../grpc/index.js';
import { traceLimits } from '../limits.js';
import type { TraceContext } from '../trace-context.js';
import type { Attributes } from '../tracer.js';
import { collectorServer } from './collector-endpoint.js';
import {
  type OtlpAttribute,
  type OtlpEvent,
  type OtlpExportRequest,
  type OtlpLink,
  type OtlpSpan,
  OtlpSpanKind,
  OtlpStatusCode,
  type OtlpValue,
  TraceService,
} from './gen/otlp.js';
import type { AttributeValue, FinishedSpan, SpanEvent } from './recorded-span.js';
import type { ExportOutcome, SpanExporter } from './span-queue.js';

export interface OtlpExporterOptions {
  readonly endpoint: string;
  /** Who the spans are from. */
  readonly resource: Attributes;
  readonly version: string;
}

/** The answers after which the same spans may be sent again (OTLP, Failures). */
const transientCodes: ReadonlySet<GrpcCodeName> = new Set<GrpcCodeName>([
  'Canceled',
  'DeadlineExceeded',
  'Aborted',
  'OutOfRange',
  'Unavailable',
  'DataLoss',
  'ResourceExhausted',
]);

/** The version of the semantic conventions that the names of attributes follow. */
const schemaUrl = 'https://opentelemetry.io/schemas/1.41.0';

export class OtlpExporter implements SpanExporter {
  readonly #options: OtlpExporterOptions;
  #connection: GrpcConnection | undefined;

  constructor(options: OtlpExporterOptions) {
    this.#options = options;
  }

  async export(spans: readonly FinishedSpan[], signal: AbortSignal): Promise<ExportOutcome> {
    this.#connection ??= new GrpcConnection(collectorServer(this.#options.endpoint));
    const connection = this.#connection;
    try {
      const { partialSuccess } = await connection.unary(TraceService.export, this.#request(spans), {
        timeoutMs: traceLimits.exportMs,
        signal,
      });
      const rejected = Math.max(0, Math.min(spans.length, partialSuccess?.rejectedSpans ?? 0));
      return { kind: 'done', rejected };
    } catch (error) {
      // A connection that answers late, or not at all, may never do better.
      this.close();
      if (signal.aborted) throw new Cancelled(undefined, { cause: error });
      const failure = asGrpcError(error);
      return { kind: 'failed', message: failure.message, canRetry: transientCodes.has(failure.codeName) };
    }
  }

  close(): void {
    this.#connection?.close();
    this.#connection = undefined;
  }

  #request(spans: readonly FinishedSpan[]): Init<OtlpExportRequest> {
    const { resource, version } = this.#options;
    const known = Object.entries(resource).flatMap(([key, value]) =>
      value === undefined ? [] : [[key, value] as const],
    );
    return {
      resourceSpans: [
        {
          resource: { attributes: otlpAttributes(known) },
          scopeSpans: [{ scope: { name: 'nodelet', version }, spans: spans.map(otlpSpan) }],
          schemaUrl,
        },
      ],
    };
  }
}

const kinds = {
  internal: OtlpSpanKind.SPAN_KIND_INTERNAL,
  server: OtlpSpanKind.SPAN_KIND_SERVER,
  client: OtlpSpanKind.SPAN_KIND_CLIENT,
} as const;

export function otlpSpan(span: FinishedSpan): Init<OtlpSpan> {
  const { context, parentSpanId, failure } = span;
  return {
    ...otlpContext(context),
    parentSpanId: parentSpanId === undefined ? new Uint8Array(0) : Buffer.from(parentSpanId, 'hex'),
    name: span.name,
    kind: kinds[span.kind],
    startTimeUnixNano: nanoseconds(span.startMs),
    endTimeUnixNano: nanoseconds(span.endMs),
    attributes: otlpAttributes(span.attributes),
    droppedAttributesCount: span.droppedAttributes,
    events: span.events.map(otlpEvent),
    droppedEventsCount: span.droppedEvents,
    links: span.links.map(otlpContext),
    ...(failure === undefined
      ? {}
      : { status: { code: OtlpStatusCode.STATUS_CODE_ERROR, message: failure } }),
  };
}

function otlpContext({ traceId, spanId, state = '' }: TraceContext): Init<OtlpLink> {
  return {
    traceId: Buffer.from(traceId, 'hex'),
    spanId: Buffer.from(spanId, 'hex'),
    traceState: state,
  };
}

function otlpEvent({ name, timeMs, attributes, droppedAttributes }: SpanEvent): Init<OtlpEvent> {
  return {
    name,
    timeUnixNano: nanoseconds(timeMs),
    attributes: otlpAttributes(attributes),
    droppedAttributesCount: droppedAttributes,
  };
}

function otlpAttributes(attributes: Iterable<readonly [string, AttributeValue]>): Init<OtlpAttribute>[] {
  return [...attributes].map(([key, value]) => ({ key, value: { value: otlpValue(value) } }));
}

function otlpValue(value: AttributeValue): NonNullable<OtlpValue['value']> {
  if (typeof value === 'string') return { case: 'stringValue', value };
  if (typeof value === 'boolean') return { case: 'boolValue', value };
  return Number.isInteger(value) ? { case: 'intValue', value } : { case: 'doubleValue', value };
}

/** Milliseconds since 1970 have no room for nanoseconds in a number: the fraction is added apart. */
function nanoseconds(timeMs: number): bigint {
  const whole = Math.floor(timeMs);
  return BigInt(whole) * 1_000_000n + BigInt(Math.round((timeMs - whole) * 1_000_000));
}
