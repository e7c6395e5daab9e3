/** The TCP connections of all frontends: how many there are, whose they are, and which of them are idle. */
import type { Socket } from 'node:net';
import { servicesLimits } from '../limits.js';

interface ProxiedConnection {
  readonly client: string;
  readonly sockets: Set<Socket>;
  movedBytes: number;
  movedMs: number;
}

export class Connections {
  readonly #open = new Set<ProxiedConnection>();
  readonly #perClient = new Map<string, number>();

  get size(): number {
    return this.#open.size;
  }

  /** Undefined when the client, or all of them together, have as many as they may have. */
  add(client: string, socket: Socket, nowMs: number): ProxiedConnection | undefined {
    const held = this.#perClient.get(client) ?? 0;
    if (this.#open.size >= servicesLimits.connections || held >= servicesLimits.connectionsPerClient)
      return undefined;
    const connection: ProxiedConnection = {
      client,
      sockets: new Set([socket]),
      movedBytes: 0,
      movedMs: nowMs,
    };
    this.#open.add(connection);
    this.#perClient.set(client, held + 1);
    return connection;
  }

  remove(connection: ProxiedConnection): void {
    if (!this.#open.delete(connection)) return;
    const held = (this.#perClient.get(connection.client) ?? 1) - 1;
    if (held > 0) this.#perClient.set(connection.client, held);
    else this.#perClient.delete(connection.client);
  }

  /** Cuts connections that moved no byte for too long. */
  sweep(nowMs: number): void {
    for (const connection of this.#open) {
      let bytes = 0;
      for (const { bytesRead, bytesWritten } of connection.sockets) bytes += bytesRead + bytesWritten;
      if (bytes !== connection.movedBytes) {
        connection.movedBytes = bytes;
        connection.movedMs = nowMs;
      } else if (nowMs - connection.movedMs >= servicesLimits.idleConnectionMs) cut(connection);
    }
  }

  cutAll(): void {
    for (const connection of this.#open) cut(connection);
  }
}

function cut({ sockets }: ProxiedConnection): void {
  for (const socket of sockets) reset(socket);
}

/** The peer sees a reset, not an end; a socket that is not connected yet just goes. */
export function reset(socket: Socket): void {
  if (socket.destroyed) return;
  if (socket.connecting) socket.destroy();
  else socket.resetAndDestroy();
}
