/** Calls of the runtime as spans: named after the method, with the headers that make the runtime's own spans part of the trace. */
import { asGrpcError, GrpcCode, type GrpcConnection, type MethodInfo } from '../grpc/index.js';
import { type Span, type SpanInit, type Tracer, traced } from '../tracing/index.js';
import type { CallOptions } from './runtime.js';

export function tracedUnary(
  tracer: Tracer,
  connection: GrpcConnection,
  method: MethodInfo<object, object>,
  request: object,
  options?: CallOptions,
): Promise<object> {
  const call = (): Promise<object> =>
    connection.unary(method, request, { ...options, metadata: tracer.headers() });
  if (!tracer.isRecording) return call();
  return traced(tracer, spanOf(method), async (span) => {
    message(span, 'SENT', 1);
    try {
      const response = await call();
      message(span, 'RECEIVED', 1);
      span.set({ [statusKey]: 0 });
      return response;
    } catch (error) {
      failed(span, error);
      throw error;
    }
  });
}

export async function* tracedStream(
  tracer: Tracer,
  connection: GrpcConnection,
  method: MethodInfo<object, object>,
  request: object,
  options?: CallOptions,
): AsyncGenerator<object, void, undefined> {
  const span = tracer.begin(spanOf(method));
  // Only the call is made within the span: whoever reads the stream goes on in its own.
  const metadata = tracer.within(span, () => tracer.headers());
  message(span, 'SENT', 1);
  let received = 0;
  try {
    for await (const response of connection.stream(method, request, { ...options, metadata })) {
      message(span, 'RECEIVED', ++received);
      yield response;
    }
    span.set({ [statusKey]: 0 });
  } catch (error) {
    failed(span, error);
    throw error;
  } finally {
    span.end();
  }
}

const statusKey = 'rpc.grpc.status_code';

/** `/runtime.v1.RuntimeService/Version` without its first slash names the span. */
function spanOf({ path }: MethodInfo<object, object>): SpanInit {
  const [service = '', method = ''] = path.slice(1).split('/');
  return {
    name: `${service}/${method}`,
    kind: 'client',
    attributes: { 'rpc.system': 'grpc', 'rpc.service': service, 'rpc.method': method },
  };
}

function message(span: Span, type: 'SENT' | 'RECEIVED', id: number): void {
  span.event('message', { 'rpc.message.type': type, 'rpc.message.id': id });
}

/** The message of the runtime, without what was sent to it. */
function failed(span: Span, error: unknown): void {
  const { codeName, details } = asGrpcError(error);
  span.set({ [statusKey]: GrpcCode[codeName] });
  span.fail(details);
}
