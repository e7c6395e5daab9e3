/** What a request to the API server tells of its trace, and what its span says. */
import { describe, expect, it } from 'vitest';
import { forwardingTracer, type Span, type SpanInit, type Tracer } from '../tracing/index.js';
import { ApiUnreachable } from './api-error.js';
import { tracedSend } from './traced-send.js';
import type { TransportRequest, TransportResponse } from './transport.js';

const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const caller = {
  context: { traceId: traceparent.slice(3, 35), spanId: traceparent.slice(36, 52), sampled: true },
  state: '',
};

const request: TransportRequest = {
  method: 'PATCH',
  path: '/api/v1/namespaces/n/pods/a/status?fieldManager=kubelet',
  timeoutMs: 1000,
  signal: undefined,
  purpose: 'call',
  body: { contentType: 'application/json', text: '{"secret":"very-secret"}' },
};

/** A tracer that notes its spans in words; while one is active, calls get the header. */
function notingTracer() {
  const notes: string[] = [];
  let isActive = false;
  const tracer: Tracer = {
    isRecording: true,
    begin: ({ name, kind, attributes }: SpanInit): Span => {
      notes.push(`begin ${kind} ${name} ${JSON.stringify(attributes)}`);
      return {
        set: (set) => void notes.push(`set ${JSON.stringify(set)}`),
        event: () => undefined,
        fail: (message) => void notes.push(`fail ${message}`),
        end: () => void notes.push('end'),
      };
    },
    within: (_, work) => {
      isActive = true;
      return work();
    },
    headers: () => (isActive ? { traceparent } : undefined),
  };
  return { tracer, notes };
}

function answering(code: number | Error) {
  const sent: TransportRequest[] = [];
  const transport = {
    host: 'server:6443',
    send: async (asked: TransportRequest): Promise<TransportResponse> => {
      sent.push(asked);
      if (code instanceof Error) throw code;
      // Nothing but the code is read.
      return { code } as TransportResponse;
    },
  };
  return { sent, transport };
}

describe('tracedSend', () => {
  it('makes a span of the request and gives the server its header', async () => {
    const { tracer, notes } = notingTracer();
    const { sent, transport } = answering(200);
    await tracedSend(tracer, transport, request);
    expect(sent).toEqual([{ ...request, headers: { traceparent } }]);
    expect(notes).toEqual([
      'begin client HTTP PATCH {"http.request.method":"PATCH","server.address":"server:6443","url.path":"/api/v1/namespaces/n/pods/a/status"}',
      'set {"http.response.status_code":200}',
      'end',
    ]);
  });
  it('tells neither the query nor the body', async () => {
    const { tracer, notes } = notingTracer();
    await tracedSend(tracer, answering(200).transport, request);
    expect(notes.join()).not.toMatch(/secret|fieldManager/);
  });
  it.each([
    [399, []],
    [400, ['fail HTTP 400']],
    [500, ['fail HTTP 500']],
  ])('an answer of %i fails the span: %j', async (code, failures) => {
    const { tracer, notes } = notingTracer();
    await tracedSend(tracer, answering(code).transport, request);
    expect(notes.filter((note) => note.startsWith('fail'))).toEqual(failures);
    expect(notes.at(-1)).toBe('end');
  });
  it('no answer fails the span and the request', async () => {
    const { tracer, notes } = notingTracer();
    const { transport } = answering(new ApiUnreachable('connection refused', 'not-sent'));
    await expect(tracedSend(tracer, transport, request)).rejects.toThrow('connection refused');
    expect(notes.slice(-2)).toEqual(['fail connection refused', 'end']);
  });
  it('without tracing passes on the trace of a caller, and makes none', async () => {
    const tracer = forwardingTracer();
    const { sent, transport } = answering(200);
    await tracedSend(tracer, transport, request);
    const served = tracer.begin({ name: 'GET', caller });
    await tracer.within(served, () => tracedSend(tracer, transport, request));
    served.end();
    expect(sent.map(({ headers }) => headers?.traceparent)).toEqual([undefined, traceparent]);
  });
});
