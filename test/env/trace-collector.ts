/** A collector of traces: a gRPC server on a port that decodes OTLP, and can be made to misbehave. */
import { createServer, type Http2Server, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import {
  OtlpExportRequest,
  OtlpExportResponse,
  type OtlpValue,
} from '../../src/tracing/recording/gen/otlp.js';

/** A span, as tests compare it. */
export interface CollectedSpan {
  readonly service: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  readonly kind: number;
  readonly startNs: bigint;
  readonly endNs: bigint;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  readonly events: readonly string[];
  readonly links: readonly string[];
  readonly error: string | undefined;
}

export type CollectorAnswer =
  | { readonly do: 'accept'; readonly rejected?: number }
  | { readonly do: 'refuse'; readonly code: number }
  | { readonly do: 'hang' };

export class TraceCollector {
  readonly spans: CollectedSpan[] = [];
  requests = 0;
  largestBytes = 0;
  answer: CollectorAnswer = { do: 'accept' };
  readonly #server: Http2Server = createServer();
  readonly #sessions = new Set<ServerHttp2Session>();

  async listen(port = 0): Promise<this> {
    this.#server.on('session', (session) => {
      this.#sessions.add(session);
      session.once('close', () => this.#sessions.delete(session));
      session.on('error', () => undefined);
    });
    this.#server.on('stream', (stream, headers) => {
      stream.on('error', () => undefined);
      this.requests++;
      const { answer } = this;
      if (answer.do === 'hang') return;
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.once('end', () => {
        const isExport = headers[':path'] === '/opentelemetry.proto.collector.trace.v1.TraceService/Export';
        const status = answer.do === 'refuse' ? answer.code : isExport ? 0 : 12;
        stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
        stream.once('wantTrailers', () => stream.sendTrailers({ 'grpc-status': String(status) }));
        if (status !== 0) return stream.end();
        const body = Buffer.concat(chunks).subarray(5);
        this.largestBytes = Math.max(this.largestBytes, body.length);
        this.#take(body);
        const rejected = answer.do === 'accept' ? answer.rejected : undefined;
        stream.end(framed(rejected === undefined ? {} : { partialSuccess: { rejectedSpans: rejected } }));
      });
    });
    await new Promise<void>((resolve) => this.#server.listen(port, '127.0.0.1', resolve));
    return this;
  }

  get endpoint(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  named(name: string): CollectedSpan[] {
    return this.spans.filter((span) => span.name === name);
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => void this.#server.close(() => resolve()));
    for (const session of this.#sessions) session.destroy();
    await closed;
  }

  #take(body: Buffer): void {
    for (const { resource, scopeSpans } of OtlpExportRequest.decode(body).resourceSpans) {
      const service = valuesOf(resource?.attributes ?? [])['service.name'];
      for (const span of scopeSpans.flatMap(({ spans }) => spans)) {
        this.spans.push({
          service: String(service),
          traceId: hex(span.traceId),
          spanId: hex(span.spanId),
          parentSpanId: hex(span.parentSpanId),
          name: span.name,
          kind: span.kind,
          startNs: span.startTimeUnixNano,
          endNs: span.endTimeUnixNano,
          attributes: valuesOf(span.attributes),
          events: span.events.map(({ name }) => name),
          links: span.links.map(({ traceId }) => hex(traceId)),
          error: span.status?.code === 2 ? span.status.message : undefined,
        });
      }
    }
  }
}

/** Each span below its parent, as text: two spaces for every level, siblings by name. */
export function traceTree(spans: readonly CollectedSpan[], parentSpanId = '', depth = 0): string[] {
  return spans
    .filter((span) => span.parentSpanId === parentSpanId)
    .sort((a, b) => (a.startNs === b.startNs ? (a.name < b.name ? -1 : 1) : a.startNs < b.startNs ? -1 : 1))
    .flatMap((span) => ['  '.repeat(depth) + span.name, ...traceTree(spans, span.spanId, depth + 1)]);
}

function framed(response: Parameters<typeof OtlpExportResponse.encode>[0]): Buffer {
  const message = OtlpExportResponse.encode(response);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

function valuesOf(
  attributes: readonly { readonly key: string; readonly value?: OtlpValue | undefined }[],
): Record<string, string | number | boolean> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, value?.value?.value ?? '']));
}
