/**
 * Closes a server completely and in time: `Server.close` alone would wait for connections that never send a
 * request.
 */
import type { Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Clock, Timer } from '../async/index.js';

export class Closer {
  readonly #server: Server;
  readonly #clock: Clock;
  readonly #graceMs: number;
  readonly #endMore: () => void;
  /** Upgraded connections; the server itself no longer tracks them. */
  readonly #upgraded = new Set<Duplex>();
  readonly #abort = new AbortController();
  #inFlight = 0;
  #grace: Timer | undefined;
  #closing: Promise<void> | undefined;

  constructor(server: Server, clock: Clock, graceMs: number, endMore: () => void) {
    this.#server = server;
    this.#clock = clock;
    this.#graceMs = graceMs;
    this.#endMore = endMore;
  }

  /** Aborted when the listener starts to close: open-ended streams must end then. */
  get closing(): AbortSignal {
    return this.#abort.signal;
  }

  track(response: ServerResponse): void {
    this.#inFlight++;
    if (this.#closing !== undefined) response.shouldKeepAlive = false;
    response.once('close', () => this.#ended());
  }

  trackUpgraded(socket: Duplex): void {
    this.#inFlight++;
    this.#upgraded.add(socket);
    socket.once('close', () => {
      this.#upgraded.delete(socket);
      this.#ended();
    });
  }

  #ended(): void {
    this.#inFlight--;
    if (this.#closing !== undefined && this.#inFlight === 0) this.#closeAll();
  }

  #closeAll(): void {
    this.#server.closeAllConnections();
    for (const socket of this.#upgraded) socket.destroy();
    this.#endMore();
  }

  close(): Promise<void> {
    this.#closing ??= new Promise<void>((resolve) => {
      this.#server.close(() => {
        this.#grace?.cancel();
        resolve();
      });
      this.#abort.abort();
      if (this.#inFlight === 0) this.#closeAll();
      else this.#grace = this.#clock.setTimer(this.#graceMs, () => this.#closeAll());
    });
    return this.#closing;
  }
}
