/** Requests as spans: begun when a request is admitted, named after its route, ended with its response. */
import { readTrace, type Span, type SpanInit, type Tracer } from '../tracing/index.js';
import { isStreamed, isTakenOver, type RouteResponse } from './responses.js';
import type { PathValues, Route, ServerRequest } from './routes.js';

export interface TracedPort {
  readonly tracer: Tracer;
  /** Whoever calls cannot be known: its trace is linked, and neither followed nor passed on. */
  readonly isOpenToAll: boolean;
}

/** A request that is refused never reaches its route, and so leaves no span. */
export function tracedRoutes(routes: readonly Route[], port: TracedPort): Route[] {
  return routes.map((route) => tracedRoute(route, port));
}

function tracedRoute(route: Route, port: TracedPort): Route {
  switch (route.kind) {
    case 'plain':
    case 'resource': {
      const { path, handle } = route;
      return {
        ...route,
        handle: (request: ServerRequest) => serve(port, path, request, async () => handle(request)),
      };
    }
    case 'template': {
      const { path, handle } = route;
      return {
        ...route,
        handle: (request: ServerRequest, values: PathValues) =>
          serve(port, templateText(path, Object.keys(values)), request, async () => handle(request, values)),
      };
    }
    case 'tree': {
      const { path, handle } = route;
      return {
        ...route,
        handle: (request: ServerRequest, below: string) =>
          serve(port, `${path}{path}`, request, async () => handle(request, below)),
      };
    }
  }
}

/** As the reference kubelet names the parts of a path. */
const partNames: Readonly<Record<string, string>> = {
  namespace: 'podNamespace',
  pod: 'podID',
  container: 'containerName',
};

function templateText(path: string, parts: readonly string[]): string {
  return [path, ...parts.map((part) => `{${partNames[part] ?? part}}`)].join('/');
}

async function serve(
  { tracer, isOpenToAll }: TracedPort,
  route: string,
  request: ServerRequest,
  handle: () => Promise<RouteResponse>,
): Promise<RouteResponse> {
  const caller = readTrace(request.headers);
  if (!tracer.isRecording && (caller === undefined || isOpenToAll)) return await handle();
  const span = tracer.begin(spanOf(route, request, caller, isOpenToAll));
  try {
    const response = await tracer.within(span, handle);
    return followed(tracer, span, response);
  } catch (error) {
    span.fail(error instanceof Error ? error.message : String(error));
    span.end();
    throw error;
  }
}

/** Neither the query, which may hold the arguments of a command, nor the values of headers are told. */
function spanOf(
  route: string,
  { method, path, headers, remoteAddress }: ServerRequest,
  caller: SpanInit['caller'],
  isRoot: boolean,
): SpanInit {
  return {
    name: route,
    kind: 'server',
    caller,
    isRoot,
    attributes: {
      'http.request.method': method,
      'http.route': route,
      'url.path': path,
      'client.address': remoteAddress,
      'user_agent.original': headers['user-agent'],
    },
  };
}

/** The span lasts as long as its response is sent, or as the session that took over the connection. */
function followed(tracer: Tracer, span: Span, response: RouteResponse): RouteResponse {
  const { status, body } = response;
  const during = async (work: () => Promise<void>): Promise<void> => {
    try {
      await tracer.within(span, work);
    } catch (error) {
      span.fail(error instanceof Error ? error.message : String(error));
      throw error;
    } finally {
      span.end();
    }
  };
  if (isTakenOver(body)) {
    span.set({ 'http.response.status_code': 101 });
    return {
      ...response,
      body: { takeOver: (client, head) => during(() => body.takeOver(client, head)) },
    };
  }
  span.set({ 'http.response.status_code': status });
  if (status >= 500) span.fail(`HTTP ${status}`);
  if (isStreamed(body)) {
    return {
      ...response,
      body: { ...body, stream: (sink, signal) => during(() => body.stream(sink, signal)) },
    };
  }
  span.end();
  return response;
}
