/** The streaming server: upgrades HTTP requests to SPDY or WebSocket and runs them on a backend. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '../async/index.js';
import { commandOf } from './command-session.js';
import type { StreamingBackend, StreamRequest } from './contracts.js';
import { decideHandshake } from './handshake.js';
import { refuse, switchProtocols } from './http-responses.js';
import { streamingLimits, webSocketLimits } from './limits.js';
import { StreamRequests } from './requests.js';
import { serveSpdyCommand } from './spdy-command.js';
import { serveSpdyPortForward } from './spdy-port-forward.js';
import { serveWebSocketCommand } from './websocket-command.js';
import { serveWebSocketPortForward } from './websocket-port-forward.js';

export interface StreamingServerOptions {
  readonly backend: StreamingBackend;
  readonly clock: Clock;
  /** Closes a connection that was idle for this long. Default: 4 h. */
  readonly idleTimeoutMs?: number;
  /** How long the client may take to open its streams. Default: 30 s. */
  readonly creationTimeoutMs?: number;
}

export interface StreamingServer {
  /**
   * Keeps the request for one use within a minute and returns its path, for Exec, Attach and PortForward of a CRI
   * runtime. Undefined when too many requests wait.
   */
  register(request: StreamRequest): string | undefined;
  /** For the `upgrade` event of an http.Server; serves the paths of `register`. */
  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** For the `request` event of an http.Server; refuses requests without an upgrade. */
  handleRequest(request: IncomingMessage, response: ServerResponse): void;
  /**
   * For a server with its own paths: answers the upgrade and serves the request at once. Resolves when the session has
   * ended or the upgrade was refused.
   */
  serve(stream: StreamRequest, request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>;
  /** Ends all sessions and resolves when none is left. */
  close(): Promise<void>;
}

interface StreamSession {
  readonly connection: { destroy(reason: Error): void };
  readonly done: Promise<void>;
}

export function streamingServer(options: StreamingServerOptions): StreamingServer {
  const { clock } = options;
  const requests = new StreamRequests(clock);
  const sessions = new Set<StreamSession>();
  let closed = false;

  const serve: StreamingServer['serve'] = async (stream, request, socket, head) => {
    socket.on('error', () => socket.destroy());
    const purpose = stream.kind === 'portforward' ? 'portforward' : 'command';
    const handshake = decideHandshake({ method: request.method ?? '', headers: request.headers }, purpose);
    if (handshake.kind === 'refused') return refuse(socket, handshake.refusal);
    if (closed) return refuse(socket, { statusCode: 503, body: 'the server is going down\n' });
    if (stream.kind === 'portforward' && handshake.kind === 'websocket') {
      const problem = webSocketPortsProblem(stream.ports);
      if (problem !== undefined) return refuse(socket, { statusCode: 400, body: problem });
    }
    if (sessions.size >= streamingLimits.sessions) {
      return refuse(socket, { statusCode: 503, body: `${streamingLimits.sessions} sessions are open\n` });
    }
    if (socket instanceof Socket) socket.setNoDelay(true).setTimeout(0);
    switchProtocols(socket, handshake.headers);
    const session = begin(options, stream, handshake, { socket, head });
    sessions.add(session);
    try {
      await session.done;
    } finally {
      sessions.delete(session);
      session.connection.destroy(new Error('the session is over'));
    }
  };

  return {
    register: (request) => requests.add(request),
    serve,
    handleUpgrade: (request, socket, head) => {
      socket.on('error', () => socket.destroy());
      const found = find(requests, request);
      if (typeof found === 'number') {
        refuse(socket, { statusCode: found, body: found === 404 ? '404 page not found\n' : '' });
      } else {
        // The session reports errors to its client. A rejection means that the connection has ended.
        serve(found, request, socket, head).catch(() => socket.destroy());
      }
    },
    handleRequest: (request, response) => {
      const found = find(requests, request);
      const statusCode = typeof found === 'number' ? found : 400;
      const body =
        statusCode === 404 ? '404 page not found\n' : 'unable to upgrade: missing upgrade headers\n';
      response.writeHead(statusCode, { 'Content-Type': 'text/plain; charset=utf-8' }).end(body);
    },
    close: async () => {
      closed = true;
      for (const { connection } of sessions) connection.destroy(new Error('the server is going down'));
      await Promise.allSettled([...sessions].map(({ done }) => done));
    },
  };
}

/** The request of the path, or the HTTP status when there is none. */
function find(requests: StreamRequests, { method, url }: IncomingMessage): StreamRequest | 404 | 405 {
  if (method !== 'GET' && method !== 'POST') return 405;
  const [path = ''] = (url ?? '').split('?');
  return requests.take(path) ?? 404;
}

function webSocketPortsProblem(ports: readonly number[]): string | undefined {
  if (ports.length === 0) return 'query parameter "port" is required\n';
  if (ports.length > webSocketLimits.ports) return `more than ${webSocketLimits.ports} ports\n`;
  return undefined;
}

function begin(
  options: StreamingServerOptions,
  request: StreamRequest,
  handshake: Exclude<ReturnType<typeof decideHandshake>, { kind: 'refused' }>,
  wire: { readonly socket: Duplex; readonly head: Buffer },
): StreamSession {
  const { backend, clock } = options;
  const idleTimeoutMs = options.idleTimeoutMs ?? streamingLimits.idleMs;
  const creationTimeoutMs = options.creationTimeoutMs ?? streamingLimits.creationMs;
  const connection = { ...wire, clock, idleTimeoutMs };
  if (handshake.kind === 'websocket') {
    const { protocol } = handshake;
    return request.kind === 'portforward'
      ? serveWebSocketPortForward({ backend, request, protocol, connection })
      : serveWebSocketCommand({ command: commandOf(backend, request), protocol, connection });
  }
  const { version } = handshake;
  return request.kind === 'portforward'
    ? serveSpdyPortForward({ backend, request, connection, creationTimeoutMs, clock })
    : serveSpdyCommand({
        command: commandOf(backend, request),
        version,
        connection,
        creationTimeoutMs,
        clock,
      });
}
