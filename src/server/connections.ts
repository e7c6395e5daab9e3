/** Bounds what the connections of a listener may hold, so that one client's leave room for those of others. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '../async/index.js';
import type { Timeline } from '../timeline/index.js';
import { UnreadRequests } from './unread-requests.js';

export interface ConnectionsOptions {
  readonly limit: number;
  /** Of requests that are not whole yet, on all connections together. */
  readonly unreadBytes: number;
  /** Whether connections speak TLS. */
  readonly secure: boolean;
  /** Of the listener, in the timeline. */
  readonly name: string;
  readonly clock: Clock;
  readonly timeline: Timeline;
}

export interface Connections {
  /** Whether the request may be answered; the connection is over otherwise. */
  begin(request: IncomingMessage, response: ServerResponse): boolean;
  /** Whether the connection may be handed over: answers that are still to come would go into what it then carries. */
  mayUpgrade(socket: Duplex): boolean;
}

/** Requests that wait for their answers on one connection. Clients of this API send one after the other. */
const mostPipelined = 8;
const tellAgainMs = 60_000;

export function boundedConnections(server: Server, options: ConnectionsOptions): Connections {
  const { limit, unreadBytes, secure, name, clock, timeline } = options;
  const unanswered = new WeakMap<Duplex, number>();
  const countOf = (socket: Duplex): number => unanswered.get(socket) ?? 0;
  let open = 0;
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
  const onDrop = tell('refused', `${limit} are open`);
  const unread = new UnreadRequests(server, secure, {
    clock,
    limitBytes: unreadBytes,
    onCut: tell('cut off', `requests that were not whole took more than ${unreadBytes} bytes together`),
  });

  server.maxConnections = limit;
  server.on('connection', (socket: Duplex) => {
    open++;
    socket.once('close', () => open--);
    // A connection that is kept for a request that may come must not stand in the way of one that has come.
    if (open >= limit) server.closeIdleConnections();
  });
  server.on('drop', () => {
    server.closeIdleConnections();
    onDrop(1);
  });

  return {
    begin(request, response) {
      const { socket } = request;
      if (socket.destroyed) return false;
      if (countOf(socket) >= mostPipelined) {
        socket.destroy();
        return false;
      }
      unanswered.set(socket, countOf(socket) + 1);
      unread.headWhole(socket);
      response.once('close', () => unanswered.set(socket, countOf(socket) - 1));
      return true;
    },
    mayUpgrade(socket) {
      if (socket.destroyed) return false;
      if (countOf(socket) === 0) {
        // Servers hand out the sockets that they accepted, under a wider type.
        unread.leave(socket as Socket);
        return true;
      }
      socket.destroy();
      return false;
    },
  };
}

/** Tells a number at once, and what comes within a while after it as one sum with the next. */
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
