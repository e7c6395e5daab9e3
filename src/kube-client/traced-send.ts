/** Requests to the API server as spans, with the headers that make the server's own spans part of the trace. */
import { type Tracer, traced } from '../tracing/index.js';
import type { Transport, TransportRequest, TransportResponse } from './transport.js';

/** The span ends with the head of the response. Its path has no query, and nothing tells of bodies and credentials. */
export function tracedSend(
  tracer: Tracer,
  transport: Pick<Transport, 'send' | 'host'>,
  request: TransportRequest,
): Promise<TransportResponse> {
  const send = (): Promise<TransportResponse> => transport.send({ ...request, headers: tracer.headers() });
  if (!tracer.isRecording) return send();
  const { method, path } = request;
  const attributes = {
    'http.request.method': method,
    'server.address': transport.host,
    'url.path': path.split('?', 1)[0],
  };
  return traced(tracer, { name: `HTTP ${method}`, kind: 'client', attributes }, async (span) => {
    const response = await send();
    span.set({ 'http.response.status_code': response.code });
    if (response.code >= 400) span.fail(`HTTP ${response.code}`);
    return response;
  });
}
