import { describe, expect, it } from 'vitest';
import { forwardingTracer, type Span, type SpanInit, type Tracer } from '../tracing/index.js';
import { plain, type RouteResponse } from './responses.js';
import { dispatch, type Route, type ServerRequest } from './routes.js';
import { tracedRoutes } from './traced-routes.js';

interface SeenSpan extends SpanInit {
  readonly said: string[];
}

function recorder(): Tracer & { readonly spans: SeenSpan[] } {
  const spans: SeenSpan[] = [];
  return {
    spans,
    isRecording: true,
    begin(init): Span {
      const said: string[] = [];
      spans.push({ ...init, said });
      return {
        set: (attributes) => void said.push(JSON.stringify(attributes)),
        event: (name) => void said.push(name),
        fail: (message) => void said.push(`failed: ${message}`),
        end: () => void said.push('ended'),
      };
    },
    within: (_, work) => work(),
    headers: () => undefined,
  };
}

const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const request = (path: string, headers: Record<string, string> = {}): ServerRequest => ({
  method: 'GET',
  path,
  query: new URLSearchParams('command=secret'),
  headers,
});
const answer = plain(200, 'ok');
const routes: Route[] = [
  { kind: 'plain', path: '/healthz', handle: () => answer },
  {
    kind: 'template',
    path: '/exec',
    templates: [['namespace', 'pod', 'container']],
    methods: ['GET'],
    handle: () => answer,
  },
  { kind: 'tree', path: '/logs/', methods: ['GET'], handle: () => plain(500, 'no') },
];

describe('tracedRoutes', () => {
  it.each([
    ['/healthz', '/healthz', ['{"http.response.status_code":200}', 'ended']],
    [
      '/exec/ns/web/app',
      '/exec/{podNamespace}/{podID}/{containerName}',
      ['{"http.response.status_code":200}', 'ended'],
    ],
    ['/logs/a/b', '/logs/{path}', ['{"http.response.status_code":500}', 'failed: HTTP 500', 'ended']],
  ])('%s is a span', async (path, name, said) => {
    const tracer = recorder();
    await dispatch(tracedRoutes(routes, { tracer, isOpenToAll: false }), request(path));
    expect(tracer.spans.map((span) => [span.name, span.kind, span.said])).toEqual([[name, 'server', said]]);
    expect(JSON.stringify(tracer.spans)).not.toContain('secret');
  });

  it('has no span for a request that is refused, or that has no route', async () => {
    const tracer = recorder();
    const traced = tracedRoutes(routes, { tracer, isOpenToAll: false });
    await dispatch(traced, request('/healthz'), async () => ({ kind: 'refused', response: plain(401, '') }));
    await dispatch(traced, request('/nowhere'));
    expect(tracer.spans).toEqual([]);
  });

  it('follows its caller, and only links one that it cannot know', async () => {
    const tracer = recorder();
    const asked = request('/healthz', { traceparent });
    await dispatch(tracedRoutes(routes, { tracer, isOpenToAll: false }), asked);
    await dispatch(tracedRoutes(routes, { tracer, isOpenToAll: true }), asked);
    const context = { traceId: traceparent.slice(3, 35), spanId: 'b7ad6b7169203331', sampled: true };
    expect(tracer.spans.map(({ caller, isRoot }) => [caller, isRoot])).toEqual([
      [{ context }, false],
      [{ context }, true],
    ]);
  });

  it('lasts as long as what is streamed', async () => {
    const tracer = recorder();
    const streamed: RouteResponse = {
      status: 200,
      headers: {},
      body: {
        headAtOnce: false,
        stream: async () => void tracer.spans[0]?.said.push('streamed'),
        failed: () => answer,
      },
    };
    const traced = tracedRoutes([{ kind: 'plain', path: '/logs', handle: () => streamed }], {
      tracer,
      isOpenToAll: false,
    });
    const { body } = await dispatch(traced, request('/logs'));
    if (typeof body === 'object' && 'stream' in body)
      await body.stream({ write: async () => undefined }, new AbortController().signal);
    expect(tracer.spans[0]?.said).toEqual(['{"http.response.status_code":200}', 'streamed', 'ended']);
  });
});

it('with tracing off, the trace of a caller is known to what is called for it, and to nothing later', async () => {
  const tracer = forwardingTracer();
  const seen: unknown[] = [];
  let later = (): void => undefined;
  const route: Route = {
    kind: 'plain',
    path: '/run',
    handle: async () => {
      await Promise.resolve();
      seen.push(tracer.headers());
      void new Promise<void>((resolve) => {
        later = resolve;
      }).then(() => seen.push(tracer.headers()));
      return answer;
    },
  };
  await dispatch(tracedRoutes([route], { tracer, isOpenToAll: false }), request('/run', { traceparent }));
  later();
  await new Promise((resolve) => setImmediate(resolve));
  await dispatch(tracedRoutes([route], { tracer, isOpenToAll: true }), request('/run', { traceparent }));
  expect(seen).toEqual([{ traceparent }, undefined, undefined]);
});
