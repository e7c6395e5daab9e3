/** A plain HTTP listener that no client can hold open, fill up or slow down without end, and that closes without a rest. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Clock, errorText, isCancelled, sleep, systemClock, type Timer } from '../async/index.js';
import type { Timeline } from '../timeline/index.js';
import { type Answer, text } from './answers.js';
import { dispatch, type Route } from './routes.js';

export interface ListenLimits {
  /** A connection that waits for its next request is closed after this. */
  readonly idleMs: number;
  /** From the connection's first byte, or its opening, to the end of the request's headers. */
  readonly headersMs: number;
  /** From the first byte to the end of the request's body. */
  readonly requestMs: number;
  /** Without a byte in either direction, so also for a client that does not read its answer. */
  readonly inactivityMs: number;
  readonly headersBytes: number;
  /** No handler of these servers reads a body; it is thrown away as it comes. */
  readonly bodyBytes: number;
  readonly connections: number;
  /** What requests in flight get to end when the listener closes. */
  readonly closeGraceMs: number;
}

export const defaultLimits: ListenLimits = {
  idleMs: 90_000,
  headersMs: 10_000,
  requestMs: 30_000,
  // Longer than the runtime is given to answer a list.
  inactivityMs: 300_000,
  headersBytes: 1 << 20,
  bodyBytes: 64 << 10,
  connections: 256,
  closeGraceMs: 2_000,
};

export interface ListenOptions {
  /** Names the listener in the timeline: `readonly`, `healthz`. */
  readonly name: string;
  readonly address: string;
  /** 0 takes any free port. */
  readonly port: number;
  readonly timeline: Timeline;
  readonly clock?: Clock;
  readonly limits?: Partial<ListenLimits>;
}

export interface Listener {
  /** Undefined while it does not listen. */
  address(): AddressInfo | undefined;
  /** Takes no new connection, ends idle ones at once and the others after their answer or the grace; once is enough. */
  close(): Promise<void>;
}

interface OpenListener extends Listener {
  /** Resolves when the server closed for whatever reason. */
  readonly closed: Promise<void>;
}

/** Rejects when the address cannot be had. */
export async function listen(routes: readonly Route[], options: ListenOptions): Promise<OpenListener> {
  const { timeline, clock = systemClock } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const server = createServer({
    maxHeaderSize: limits.headersBytes,
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.idleMs,
    connectionsCheckingInterval: Math.ceil(limits.headersMs / 2),
  });
  server.timeout = limits.inactivityMs;
  server.maxConnections = limits.connections;
  const closer = new Closer(server, clock, limits.closeGraceMs);
  server.on('request', (request, response) => {
    closer.track(response);
    void answerRequest(routes, request, response, limits.bodyBytes, (error) =>
      timeline.record({
        kind: 'problem',
        what: `server.${options.name}`,
        message: `${request.method ?? ''} ${pathOf(request.url ?? '')} failed`,
        error,
      }),
    );
  });
  const where = endpoint(options.address, options.port);
  try {
    server.listen(options.port, options.address);
    await once(server, 'listening');
  } catch (error) {
    throw new Error(`the ${options.name} server cannot listen on ${where}`, { cause: error });
  }
  server.on('error', (error) =>
    timeline.record({
      kind: 'problem',
      what: `server.${options.name}`,
      message: `the listener on ${where} could not take a connection`,
      error,
    }),
  );
  const closed = new Promise<void>((resolve) => server.once('close', resolve));
  const bound = server.address();
  // A server that listens on an address and a port has those, never a path.
  const address = typeof bound === 'string' || bound === null ? undefined : bound;
  timeline.record({
    kind: 'notice',
    what: `server.${options.name}`,
    message: `listening on ${endpoint(options.address, address?.port ?? options.port)}`,
  });
  return {
    closed,
    address: () => (server.listening ? address : undefined),
    close: () => closer.close(),
  };
}

const relistenDelayMs = 5_000;

/** Keeps a listener open until it is closed: one that fails is opened again later. Resolves after the first try. */
export async function keepListening(routes: readonly Route[], options: ListenOptions): Promise<Listener> {
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

/** Closes a server: `Server.close` alone would wait for connections that never send a request. */
class Closer {
  readonly #server: Server;
  readonly #clock: Clock;
  readonly #graceMs: number;
  #inFlight = 0;
  #grace: Timer | undefined;
  #closing: Promise<void> | undefined;

  constructor(server: Server, clock: Clock, graceMs: number) {
    this.#server = server;
    this.#clock = clock;
    this.#graceMs = graceMs;
  }

  track(response: ServerResponse): void {
    this.#inFlight++;
    if (this.#closing !== undefined) response.shouldKeepAlive = false;
    response.once('close', () => {
      this.#inFlight--;
      if (this.#closing !== undefined && this.#inFlight === 0) this.#server.closeAllConnections();
    });
  }

  close(): Promise<void> {
    this.#closing ??= new Promise<void>((resolve) => {
      this.#server.close(() => {
        this.#grace?.cancel();
        resolve();
      });
      if (this.#inFlight === 0) this.#server.closeAllConnections();
      else this.#grace = this.#clock.setTimer(this.#graceMs, () => this.#server.closeAllConnections());
    });
    return this.#closing;
  }
}

/** Never rejects: what goes wrong becomes the answer and is reported. */
async function answerRequest(
  routes: readonly Route[],
  request: IncomingMessage,
  response: ServerResponse,
  bodyLimitBytes: number,
  report: (error: unknown) => void,
): Promise<void> {
  let answer: Answer;
  if (Number(request.headers['content-length'] ?? 0) > bodyLimitBytes) {
    response.shouldKeepAlive = false;
    answer = text(413, '413 Request Entity Too Large');
  } else {
    throwAwayBody(request, bodyLimitBytes);
    try {
      const url = request.url ?? '';
      const mark = url.indexOf('?');
      answer = await dispatch(routes, {
        method: request.method ?? '',
        path: pathOf(url),
        query: new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1)),
        headers: request.headers,
      });
    } catch (error) {
      report(error);
      answer = text(500, `Internal Error: ${errorText(error)}`);
    }
  }
  if (response.destroyed) return;
  const body = typeof answer.body === 'string' ? Buffer.from(answer.body) : answer.body;
  response.writeHead(answer.status, { ...answer.headers, 'Content-Length': body.length });
  response.end(body);
}

/** The length of a chunked body is only known by counting it. */
function throwAwayBody(request: IncomingMessage, limitBytes: number): void {
  let seenBytes = 0;
  request.on('data', (chunk: Buffer) => {
    seenBytes += chunk.length;
    if (seenBytes > limitBytes) request.destroy();
  });
}

/** The path of a request target, which may be a whole URL when the client thinks it talks to a proxy. */
function pathOf(target: string): string {
  return target.replace(/^https?:\/\/[^/?]*/i, '').replace(/[?#].*$/s, '');
}

function endpoint(address: string, port: number): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}
