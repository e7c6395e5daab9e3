/**
 * An HTTP listener that no client can hold open, fill up or slow down without end, and that closes
 * completely.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerOptions } from 'node:http';
import type { AddressInfo, Server as NetServer } from 'node:net';
import { type Clock, isCancelled, sleep, systemClock } from '../async/index.js';
import type { Timeline } from '../timeline/index.js';
import { Closer } from './closer.js';
import { boundedConnections } from './connections.js';
import type { ServerName } from './contracts.js';
import { defaultLimits, type ListenLimits } from './limits.js';
import { pathOf, type ResponderOptions, respondToRequest, respondToUpgrade } from './responder.js';
import type { RequestGate, Route } from './routes.js';
import { Sessions } from './sessions.js';

const keepAliveProbeMs = 15_000;

export interface ServeOptions {
  /** Names the listener in the timeline. */
  readonly name: ServerName;
  readonly timeline: Timeline;
  readonly clock?: Clock;
  readonly limits?: Partial<ListenLimits>;
  /** Checked before any existing route responds. Default: everybody may do everything. */
  readonly gate?: RequestGate;
  /** Makes the server speak TLS. */
  readonly secure?: SecureServing;
  /**
   * Called for each request; the returned function is called when the client's connection is free or gone.
   */
  readonly onRequest?: (request: IncomingMessage) => () => void;
}

/** Creates a TLS server, and closes connections that have not finished their handshake. */
export interface SecureServing {
  createServer(options: ServerOptions): Server;
  endHandshakes(): void;
}

export interface ListenOptions extends ServeOptions {
  readonly address: string;
  /** 0: any free port. */
  readonly port: number;
}

/** Where a server listens. */
export interface ListenTarget {
  /** For messages. */
  readonly text: string;
  /** Makes the server listen; rejects when that is impossible. */
  bind(server: NetServer): Promise<void>;
}

export interface ServerListener {
  /** Undefined while it is not listening. */
  address(): AddressInfo | undefined;
  /**
   * Accepts no new connection, closes idle ones at once and the others after their response or the grace;
   * idempotent.
   */
  close(): Promise<void>;
}

interface OpenListener extends ServerListener {
  /** Resolves when the server closed for whatever reason. */
  readonly closed: Promise<void>;
}

/** Rejects when it cannot listen on the address. */
export function listen(routes: readonly Route[], options: ListenOptions): Promise<OpenListener> {
  const { address, port } = options;
  return serve(routes, options, {
    text: endpoint(address, port),
    async bind(server) {
      server.listen(port, address);
      await once(server, 'listening');
    },
  });
}

/** Serves routes at any place, with the limits and the orderly close of every listener. */
export async function serve(
  routes: readonly Route[],
  options: ServeOptions,
  place: ListenTarget,
): Promise<OpenListener> {
  const { timeline, clock = systemClock } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const { secure } = options;
  const create = secure === undefined ? createServer : secure.createServer;
  const server = create({
    maxHeaderSize: limits.headersBytes,
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.idleMs,
    connectionsCheckingInterval: Math.ceil(limits.headersMs / 2),
    // The only way to notice that the peer of a silent stream is gone.
    keepAlive: true,
    keepAliveInitialDelay: keepAliveProbeMs,
  });
  server.timeout = limits.inactivityMs;
  // One more, to detect requests with too many.
  server.maxHeadersCount = limits.headers + 1;
  const connections = boundedConnections(server, {
    limits,
    secure: secure !== undefined,
    name: options.name,
    clock,
    timeline,
  });
  const closer = new Closer(server, clock, limits.closeGraceMs, () => secure?.endHandshakes());
  const responderOptions: ResponderOptions = {
    routes,
    clock,
    limits,
    sessions: new Sessions(limits.sessions),
    closing: closer.closing,
    gate: async (request) => {
      const admission: Awaited<ReturnType<RequestGate>> =
        options.gate === undefined ? { kind: 'admitted', request } : await options.gate(request);
      const keepsPlace = admission.kind === 'admitted' && admission.givesPlace !== true;
      if (keepsPlace && request.connection !== undefined) {
        connections.letIn(request.connection);
      }
      return admission;
    },
    report: (request, error) =>
      timeline.record({
        kind: 'problem',
        what: `server.${options.name}`,
        message: `${request.method ?? ''} ${pathOf(request.url ?? '')} failed`,
        error,
      }),
  };
  server.on('request', (request, response) => {
    if (!connections.begin(request, response)) return;
    closer.track(response);
    if (options.onRequest !== undefined) response.once('close', options.onRequest(request));
    void respondToRequest(request, response, responderOptions);
  });
  // Without a listener the server treats upgrade requests as plain ones.
  if (routes.some(({ kind }) => kind === 'template')) {
    server.on('upgrade', (request, socket, head) => {
      if (!connections.mayUpgrade(socket)) return;
      closer.trackUpgraded(socket);
      if (options.onRequest !== undefined) socket.once('close', options.onRequest(request));
      void respondToUpgrade(request, socket, head, responderOptions);
    });
  }
  try {
    await place.bind(server);
  } catch (error) {
    throw new Error(`the ${options.name} server cannot listen on ${place.text}`, { cause: error });
  }
  server.on('error', (error) =>
    timeline.record({
      kind: 'problem',
      what: `server.${options.name}`,
      message: `the listener on ${place.text} could not take a connection`,
      error,
    }),
  );
  const closed = new Promise<void>((resolve) => server.once('close', resolve));
  const bound = server.address();
  // A unix socket has a path instead.
  const address = typeof bound === 'string' || bound === null ? undefined : bound;
  timeline.record({
    kind: 'notice',
    what: `server.${options.name}`,
    message: `listening on ${address === undefined ? place.text : endpoint(address.address, address.port)}`,
  });
  return {
    closed,
    address: () => (server.listening ? address : undefined),
    close: () => closer.close(),
  };
}

const relistenDelayMs = 5_000;

/** Keeps a listener open until closed, and reopens it when it fails. Resolves after the first try. */
export async function keepListening(
  routes: readonly Route[],
  options: ListenOptions,
): Promise<ServerListener> {
  const { timeline, clock = systemClock } = options;
  const stopping = new AbortController();
  let current: OpenListener | undefined;
  let tried = (): void => {};
  const firstTry = new Promise<void>((resolve) => {
    tried = resolve;
  });
  const keep = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      try {
        current = await listen(routes, options);
        tried();
        if (stopping.signal.aborted) await current.close();
        await current.closed;
      } catch (error) {
        timeline.record({
          kind: 'problem',
          what: `server.${options.name}`,
          message: `trying again in ${relistenDelayMs / 1000}s`,
          error,
        });
        tried();
      }
      current = undefined;
      await sleep(clock, relistenDelayMs, stopping.signal).catch((error: unknown) => {
        if (!isCancelled(error)) throw error;
      });
    }
  };
  const kept = keep();
  await Promise.race([firstTry, kept]);
  return {
    address: () => current?.address(),
    close: async () => {
      stopping.abort();
      await current?.close();
      await kept;
    },
  };
}

function endpoint(address: string, port: number): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}
