/** Limits the bytes of incomplete requests on all connections: one client may send much, many may not. */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock, Timer } from '../async/index.js';

export interface UnreadRequestsOptions {
  readonly clock: Clock;
  /** For all connections together. */
  readonly limitBytes: number;
  readonly onCut: (connections: number) => void;
}

/** So few connections cannot have sent too much, as each has its own limit. */
const harmlessConnections = 64;
const lookPeriodMs = 250;

export class UnreadRequests {
  readonly #options: UnreadRequestsOptions;
  /** The bytes each connection had sent when its last request was complete. */
  readonly #wholeBytes = new Map<Socket, number>();
  #timer: Timer | undefined;

  constructor(server: Server, secure: boolean, options: UnreadRequestsOptions) {
    this.#options = options;
    server.on(secure ? 'secureConnection' : 'connection', (socket: Socket) => {
      this.#wholeBytes.set(socket, 0);
      socket.once('close', () => this.#wholeBytes.delete(socket));
      this.#arm();
    });
    server.on('close', () => this.#timer?.cancel());
  }

  /** Called for each request whose headers are complete. */
  headWhole(socket: Socket): void {
    if (this.#wholeBytes.has(socket)) this.#wholeBytes.set(socket, socket.bytesRead);
  }

  /** Called for a connection that was upgraded. */
  leave(socket: Socket): void {
    this.#wholeBytes.delete(socket);
  }

  #arm(): void {
    if (this.#timer !== undefined || this.#wholeBytes.size <= harmlessConnections) return;
    this.#timer = this.#options.clock.setTimer(lookPeriodMs, () => {
      this.#timer = undefined;
      this.#look();
      this.#arm();
    });
  }

  #look(): void {
    const { limitBytes, onCut } = this.#options;
    const pending = [...this.#wholeBytes].map(([socket, wholeBytes]) => ({
      socket,
      bytes: socket.bytesRead - wholeBytes,
    }));
    let excess = pending.reduce((sum, { bytes }) => sum + bytes, 0) - limitBytes;
    if (excess <= 0) return;
    let cut = 0;
    for (const { socket, bytes } of pending.sort((a, b) => b.bytes - a.bytes)) {
      if (excess <= 0) break;
      socket.destroy();
      excess -= bytes;
      cut++;
    }
    onCut(cut);
  }
}
