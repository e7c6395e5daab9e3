/**
 * Finds a request's handler: by exact path and prefix, then by method and media type; defines the responses
 * for misses.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';
import { plainError, type RouteResponse, redirect, text } from './responses.js';

export interface ServerRequest {
  readonly method: string;
  /** As sent, still percent-encoded, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** Names and values alternating, as received. */
  readonly rawHeaders?: readonly string[];
  /** The client's IP address; absent for a unix socket. */
  readonly remoteAddress?: string;
  /** Whether the client asked for an upgrade, so that the response may take over its connection. */
  readonly upgradable?: boolean;
  /** Aborted when the client leaves before it has its response. */
  readonly signal?: AbortSignal;
  /** The client's connection, for its certificate. */
  readonly connection?: Duplex;
  /** The whole body, limited by the listener; rejects when the client does not send all of it. */
  readonly readBody?: () => Promise<Buffer>;
}

/** Admits a request for an existing route, perhaps without its secrets, or refuses it. */
export type RequestGate = (request: ServerRequest) => Promise<AdmittedRequest | RefusedRequest>;
export interface AdmittedRequest {
  readonly kind: 'admitted';
  readonly request: ServerRequest;
  /** Whether its connection gives its place to others when the listener is full. Default: no, until the response is sent. */
  readonly givesPlace?: boolean;
}
export interface RefusedRequest {
  readonly kind: 'refused';
  readonly response: RouteResponse;
}

export type RouteHandler = (request: ServerRequest) => RouteResponse | Promise<RouteResponse>;

/** The decoded values of the path's variable segments. */
export type PathValues = Readonly<Record<string, string>>;

/** A path that ends with a slash also covers everything below it. */
export type Route =
  /** The handler gets every method. */
  | { readonly kind: 'plain'; readonly path: string; readonly handle: RouteHandler }
  /** Owns everything below its path, but serves only the path itself. */
  | {
      readonly kind: 'resource';
      readonly path: string;
      /** What it owns, if more than its path. */
      readonly root?: string;
      readonly methods: readonly string[];
      readonly produces: string;
      readonly handle: RouteHandler;
    }
  /** Owns everything below its path, and serves paths whose segments match one of the templates; an empty one is the path itself. */
  | {
      readonly kind: 'template';
      readonly path: string;
      readonly templates: readonly (readonly string[])[];
      readonly methods: readonly string[];
      /** Absent: any. */
      readonly produces?: string;
      readonly handle: (request: ServerRequest, values: PathValues) => RouteResponse | Promise<RouteResponse>;
    }
  /** Serves everything below its path, which ends with a slash; the handler gets the rest, decoded. */
  | {
      readonly kind: 'tree';
      readonly path: string;
      readonly methods: readonly string[];
      readonly handle: (request: ServerRequest, below: string) => RouteResponse | Promise<RouteResponse>;
    };

export type Routing =
  | { readonly kind: 'handle'; readonly handle: RouteHandler }
  | { readonly kind: 'redirect'; readonly path: string }
  | { readonly kind: 'malformed' }
  | { readonly kind: 'unregistered' }
  | { readonly kind: 'nothing-below' }
  | { readonly kind: 'wrong-method'; readonly allow: readonly string[] }
  | { readonly kind: 'not-acceptable'; readonly produces: string };

/** An unknown route gets its response without the gate: there is nothing to protect. */
export async function dispatch(
  routes: readonly Route[],
  request: ServerRequest,
  gate?: RequestGate,
): Promise<RouteResponse> {
  const routing = findRoute(routes, request);
  switch (routing.kind) {
    case 'redirect': {
      const query = request.query.toString();
      return redirect(query === '' ? routing.path : `${routing.path}?${query}`);
    }
    case 'malformed':
      return text(400, '400 Bad Request');
    case 'unregistered':
      return plainError(404, '404 page not found');
    default: {
      const admission: AdmittedRequest | RefusedRequest =
        gate === undefined ? { kind: 'admitted', request } : await gate(request);
      return admission.kind === 'refused' ? admission.response : respond(routing, admission.request);
    }
  }
}

type MatchedRoute = Exclude<Routing, { readonly kind: 'redirect' | 'malformed' | 'unregistered' }>;

async function respond(routing: MatchedRoute, request: ServerRequest): Promise<RouteResponse> {
  switch (routing.kind) {
    case 'handle':
      return routing.handle(request);
    case 'nothing-below':
      return text(404, '404: Page Not Found');
    case 'wrong-method': {
      const response = text(405, '405: Method Not Allowed');
      return { ...response, headers: { ...response.headers, Allow: routing.allow.join(', ') } };
    }
    case 'not-acceptable':
      return text(406, `406: Not Acceptable\n\nAvailable representations: ${routing.produces}`);
  }
}

export function findRoute(
  routes: readonly Route[],
  request: Pick<ServerRequest, 'method' | 'path' | 'headers'>,
): Routing {
  if (!request.path.startsWith('/')) return { kind: 'malformed' };
  const clean = cleanPath(request.path);
  const wanted = canonicalPath(clean);
  if (wanted === undefined) return { kind: 'malformed' };
  const route = longestMatch(routes, wanted);
  const slashMissing = route === undefined && routes.some(({ path }) => path === `${wanted}/`);
  // The canonical spelling: one with a backslash would send browsers to another host.
  if (slashMissing) return { kind: 'redirect', path: `${wanted}/` };
  if (clean !== request.path) return { kind: 'redirect', path: wanted };
  if (route === undefined) return { kind: 'unregistered' };
  if (route.kind === 'plain') return { kind: 'handle', handle: route.handle };
  if (route.kind === 'template') {
    const values = templateValues(route.templates, wanted.slice(route.path.length + 1));
    if (values === undefined) return { kind: 'nothing-below' };
    if (!route.methods.includes(request.method)) return { kind: 'wrong-method', allow: route.methods };
    if (route.produces !== undefined && !accepts(request.headers.accept, route.produces)) {
      return { kind: 'not-acceptable', produces: route.produces };
    }
    return { kind: 'handle', handle: (served) => route.handle(served, values) };
  }
  if (route.kind === 'tree') {
    if (!route.methods.includes(request.method)) return { kind: 'wrong-method', allow: route.methods };
    const below = decodeURIComponent(wanted.slice(route.path.length));
    return { kind: 'handle', handle: (served) => route.handle(served, below) };
  }
  if (withoutTrailingSlash(wanted) !== withoutTrailingSlash(route.path)) return { kind: 'nothing-below' };
  if (!route.methods.includes(request.method)) return { kind: 'wrong-method', allow: route.methods };
  if (!accepts(request.headers.accept, route.produces)) {
    return { kind: 'not-acceptable', produces: route.produces };
  }
  return { kind: 'handle', handle: route.handle };
}

function longestMatch(routes: readonly Route[], wanted: string): Route | undefined {
  let best: Route | undefined;
  let longest = 0;
  for (const route of routes) {
    const path = route.kind === 'resource' ? (route.root ?? route.path) : route.path;
    const owned = path.endsWith('/')
      ? wanted.startsWith(path)
      : wanted === path || (route.kind !== 'plain' && wanted.startsWith(`${path}/`));
    if (owned && path.length > longest) {
      best = route;
      longest = path.length;
    }
  }
  return best;
}

function templateValues(templates: readonly (readonly string[])[], below: string): PathValues | undefined {
  const segments = below === '' ? [] : withoutTrailingSlash(below).split('/');
  const names = templates.find(({ length }) => length === segments.length);
  if (names === undefined) return undefined;
  return Object.fromEntries(names.map((name, at) => [name, decodeURIComponent(segments[at] ?? '')]));
}

/** Resolves `//`, `.` and `..`; never climbs above the root. */
export function cleanPath(path: string): string {
  const kept: string[] = [];
  const segments = path.split('/');
  for (const segment of segments) {
    if (segment === '..') kept.pop();
    else if (segment !== '' && segment !== '.') kept.push(segment);
  }
  const last = segments.at(-1);
  const slash = kept.length > 0 && (last === '' || last === '.' || last === '..') ? '/' : '';
  return `/${kept.join('/')}${slash}`;
}

/** The one spelling of each path; an encoded slash stays part of its segment. Undefined when invalid. */
export function canonicalPath(path: string): string | undefined {
  try {
    return path
      .split('/')
      .map((segment) => encodeURIComponent(decodeURIComponent(segment)))
      .join('/');
  } catch {
    return undefined;
  }
}

function withoutTrailingSlash(path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path;
}

/** Whether an `Accept` header names the media type or everything; ignores weights. */
export function accepts(header: string | undefined, mediaType: string): boolean {
  if (header === undefined || header.trim() === '') return true;
  return header.split(',').some((item) => {
    const name = item.split(';', 1)[0]?.trim();
    return name === '*/*' || name === mediaType;
  });
}
