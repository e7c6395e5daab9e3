/** One listening TCP address: every connection goes to an endpoint that takes it. */
import { createServer, connect as netConnect, type Server, type Socket } from 'node:net';
import type { Clock } from '../../async/index.js';
import { servicesLimits } from '../limits.js';
import { Balancer } from './balancer.js';
import { type Connections, reset } from './connections.js';
import type { Backend, Frontend } from './frontends.js';

export interface TcpFrontendOptions {
  readonly clock: Clock;
  readonly connections: Connections;
}

const socketOptions = {
  allowHalfOpen: true,
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: servicesLimits.keepAliveMs,
  highWaterMark: servicesLimits.connectionBufferBytes,
} as const;

export class TcpFrontend {
  readonly #options: TcpFrontendOptions;
  readonly #balancer = new Balancer();
  #server: Server | undefined;

  constructor(options: TcpFrontendOptions) {
    this.#options = options;
  }

  set(frontend: Frontend): void {
    this.#balancer.set(frontend);
  }

  /** Rejects when the address cannot be had. */
  async open({ address, port }: Frontend, onFailure: (error: Error) => void): Promise<void> {
    const server = createServer({ ...socketOptions, pauseOnConnect: true }, (socket) => this.#accept(socket));
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host: address, port, exclusive: true, backlog: servicesLimits.listenBacklog }, () => {
        server.off('error', reject);
        resolve();
      });
    });
    // Such as too many open files; the server goes on.
    server.on('error', onFailure);
    this.#server = server;
  }

  /** Takes no further connections; those that are open go on to their own end. */
  close(): void {
    this.#server?.close();
    this.#server = undefined;
  }

  #accept(client: Socket): void {
    const { clock, connections } = this.#options;
    client.on('error', () => undefined);
    const address = client.remoteAddress;
    const nowMs = clock.monotonic();
    const order = address === undefined ? [] : this.#balancer.order(address, nowMs);
    if (address === undefined || order.length === 0) {
      reset(client);
      return;
    }
    const connection = connections.add(address, client, nowMs);
    if (connection === undefined) {
      reset(client);
      return;
    }
    client.once('close', () => {
      connections.remove(connection);
      for (const socket of connection.sockets) if (socket !== client && !socket.writableEnded) reset(socket);
    });
    this.#tryNext(client, connection.sockets, order, 0);
  }

  /** Connects to the endpoints in order until one takes the connection; the client's bytes wait in its socket. */
  #tryNext(client: Socket, sockets: Set<Socket>, order: readonly Backend[], index: number): void {
    const backend = order[index];
    if (client.destroyed) return;
    if (backend === undefined) {
      reset(client);
      return;
    }
    const { clock } = this.#options;
    const upstream = netConnect({ host: backend.address, port: backend.port, ...socketOptions });
    sockets.add(upstream);
    let isOver = false;
    const fail = (): void => {
      if (isOver) return;
      isOver = true;
      timer.cancel();
      sockets.delete(upstream);
      upstream.destroy();
      this.#tryNext(client, sockets, order, index + 1);
    };
    const timer = clock.setTimer(servicesLimits.connectMs, fail);
    upstream.on('error', fail);
    upstream.once('close', fail);
    upstream.once('connect', () => {
      if (isOver) return;
      isOver = true;
      timer.cancel();
      this.#balancer.reached(client.remoteAddress ?? '', backend, clock.monotonic());
      splice(client, upstream);
    });
  }
}

/** Each end of one side ends the other's direction only; a failure of one side resets the other. */
function splice(client: Socket, upstream: Socket): void {
  client.on('error', () => reset(upstream));
  upstream.on('error', () => reset(client));
  // A side that is gone without an end, or after both, leaves nothing for the other to wait for.
  upstream.once('close', () => {
    if (!client.writableEnded) reset(client);
  });
  client.pipe(upstream);
  upstream.pipe(client);
  client.resume();
}
