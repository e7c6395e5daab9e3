/** Limits the connections of a listener, so that one client leaves room for others. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '../async/index.js';
import type { Timeline } from '../timeline/index.js';
import type { ServerName } from './contracts.js';
import { clientOf, type EvictableConnection, placeToGive } from './eviction.js';
import type { ListenLimits } from './limits.js';
import { UnreadRequests } from './unread-requests.js';

export interface ConnectionsOptions {
  readonly limits: Pick<ListenLimits, 'connections' | 'strangersPerAddress' | 'pipelined' | 'unreadBytes'>;
  /** Whether connections use TLS. */
  readonly secure: boolean;
  /** Of the listener, in the timeline. */
  readonly name: ServerName;
  readonly clock: Clock;
  readonly timeline: Timeline;
}

export interface ServerConnections {
  /** Whether to serve the request; otherwise the connection is closed. */
  begin(request: IncomingMessage, response: ServerResponse): boolean;
  /**
   * Whether the connection may be upgraded: not while responses are pending, which would end up in the new
   * protocol.
   */
  mayUpgrade(socket: Duplex): boolean;
  /** Called for an admitted request: its connection keeps its place until the response is sent. */
  letIn(socket: Duplex): void;
}

const tellAgainMs = 60_000;

/** A connection, from its acceptance on. */
class OpenConnection implements EvictableConnection {
  isStranger = true;
  isUpgraded = false;
  /** Pending requests, and whether one of them was admitted. */
  unanswered = 0;
  wasLetIn = false;
  /** Whether a request on it got its response. */
  wasAnswered = false;

  readonly client: string;
  /** Read now: a closed connection no longer knows it. */
  readonly endpoint: string;

  constructor(readonly accepted: Socket) {
    this.client = clientOf(accepted.remoteAddress);
    this.endpoint = endpointOf(accepted);
  }

  /** Whether it is idle, kept open for a later request. */
  get isKept(): boolean {
    return this.wasAnswered && this.unanswered === 0 && !this.isUpgraded;
  }

  get isBusy(): boolean {
    return this.wasLetIn && (this.isUpgraded || this.unanswered > 0);
  }
}

export function boundedConnections(server: Server, options: ConnectionsOptions): ServerConnections {
  const { limits, secure, name, clock, timeline } = options;
  /** Oldest first: a connection kept open after its response counts as new. */
  const open = new Set<OpenConnection>();
  const byEndpoint = new Map<string, OpenConnection>();
  const bySocket = new WeakMap<Duplex, OpenConnection>();
  const tell = (what: string, because: string): ((connections: number) => void) =>
    counted(clock, (connections) =>
      timeline.record({
        kind: 'problem',
        what: `server.${name}`,
        message: `${what} connections: ${connections}`,
        because,
        level: 'warn',
      }),
    );
  const onDrop = tell('refused', `${limits.connections} are open`);
  const onEvict = tell('closed', 'no request on them was admitted, and others needed their places');
  const unread = new UnreadRequests(server, secure, {
    clock,
    limitBytes: limits.unreadBytes,
    onCut: tell('cut off', `incomplete requests took more than ${limits.unreadBytes} bytes together`),
  });

  const forget = (connection: OpenConnection): void => {
    open.delete(connection);
    if (byEndpoint.get(connection.endpoint) === connection) byEndpoint.delete(connection.endpoint);
  };
  const makeRoom = (newcomer: OpenConnection): void => {
    if (open.size <= Math.min(limits.connections, limits.strangersPerAddress)) return;
    const given = placeToGive([...open], newcomer, limits);
    if (given === undefined) return;
    forget(given);
    given.accepted.destroy();
    if (given === newcomer) onDrop(1);
    else onEvict(1);
  };

  /** Not `closeIdleConnections`: since Node 26 that also closes connections before their first request. */
  const closeKept = (): void => {
    for (const connection of open) {
      if (!connection.isKept) continue;
      forget(connection);
      connection.accepted.destroy();
    }
  };

  // We assign the places; this bounds what Node accepts in one burst before we do.
  server.maxConnections = 2 * limits.connections;
  server.on('drop', () => onDrop(1));
  server.on('connection', (accepted: Socket) => {
    const connection = new OpenConnection(accepted);
    open.add(connection);
    byEndpoint.set(connection.endpoint, connection);
    if (!secure) bySocket.set(accepted, connection);
    accepted.once('close', () => forget(connection));
    // An idle connection must not block a new one.
    if (open.size >= limits.connections) closeKept();
    makeRoom(connection);
  });
  if (secure) {
    server.on('secureConnection', (socket: Socket) => {
      const connection = byEndpoint.get(endpointOf(socket));
      if (connection !== undefined) bySocket.set(socket, connection);
    });
  }

  return {
    begin(request, response) {
      const { socket } = request;
      if (socket.destroyed) return false;
      const connection = bySocket.get(socket);
      if (connection === undefined || connection.unanswered >= limits.pipelined) {
        socket.destroy();
        return false;
      }
      connection.unanswered++;
      unread.headWhole(socket);
      response.once('close', () => {
        connection.unanswered--;
        connection.wasAnswered = true;
        if (connection.unanswered > 0) return;
        connection.wasLetIn = false;
        // It is idle from now on.
        if (open.delete(connection)) open.add(connection);
      });
      return true;
    },
    mayUpgrade(socket) {
      if (socket.destroyed) return false;
      const connection = bySocket.get(socket);
      if (connection === undefined || connection.unanswered > 0) {
        socket.destroy();
        return false;
      }
      connection.isUpgraded = true;
      // Servers pass the accepted sockets under a wider type.
      unread.leave(socket as Socket);
      return true;
    },
    letIn(socket) {
      const connection = bySocket.get(socket);
      if (connection === undefined) return;
      connection.isStranger = false;
      connection.wasLetIn = true;
    },
  };
}

/** Identifies a connection and the TLS socket on it; unix sockets have neither address nor TLS. */
function endpointOf({ remoteAddress = '', remotePort = 0 }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** Reports a count at once, and sums up those within the next window. */
function counted(clock: Clock, tell: (count: number) => void): (count: number) => void {
  let untold = 0;
  let toldMs = Number.NEGATIVE_INFINITY;
  return (count) => {
    untold += count;
    if (clock.monotonic() - toldMs < tellAgainMs) return;
    toldMs = clock.monotonic();
    tell(untold);
    untold = 0;
  };
}
