/** One UDP address: the datagrams of a client go to one endpoint, and its answers back to the client. */
import { createSocket, type Socket } from 'node:dgram';
import { BoundedMap, type Clock } from '../../async/index.js';
import { servicesLimits } from '../limits.js';
import { Balancer } from './balancer.js';
import type { Backend, Frontend } from './frontends.js';

interface UdpSession {
  readonly backend: Backend;
  readonly socket: Socket;
  /** Datagrams that came before the socket was connected; undefined afterwards. */
  waiting: Buffer[] | undefined;
  usedMs: number;
}

/** How many sessions all frontends have together. */
export interface UdpSessionCount {
  open: number;
}

export interface UdpFrontendOptions {
  readonly clock: Clock;
  readonly count: UdpSessionCount;
}

export class UdpFrontend {
  readonly #clock: Clock;
  readonly #count: UdpSessionCount;
  readonly #balancer = new Balancer();
  readonly #sessions = new BoundedMap<string, UdpSession>({ maxEntries: Number.POSITIVE_INFINITY });
  #socket: Socket | undefined;

  constructor({ clock, count }: UdpFrontendOptions) {
    this.#clock = clock;
    this.#count = count;
  }

  get sessions(): number {
    return this.#sessions.size;
  }

  /** Clients of endpoints that have gone are given another one with their next datagram. */
  set(frontend: Frontend): void {
    this.#balancer.set(frontend);
    for (const [client, { backend }] of this.#sessions) if (!this.#balancer.has(backend)) this.#end(client);
  }

  /** Rejects when the address cannot be had. */
  async open({ address, port }: Frontend, onFailure: (error: Error) => void): Promise<void> {
    const socket = createSocket({ type: 'udp4' });
    try {
      await new Promise<void>((resolve, reject) => {
        socket.once('error', reject);
        socket.bind({ address, port, exclusive: true }, () => {
          socket.off('error', reject);
          resolve();
        });
      });
    } catch (error) {
      socket.close();
      throw error;
    }
    socket.on('error', onFailure);
    socket.on('message', (data, { address: from, port: fromPort }) => this.#receive(data, from, fromPort));
    this.#socket = socket;
  }

  close(): void {
    this.#socket?.close();
    this.#socket = undefined;
    for (const client of [...this.#sessions.keys()]) this.#end(client);
  }

  sweep(nowMs: number): void {
    for (const [client, { usedMs }] of this.#sessions)
      if (nowMs - usedMs >= servicesLimits.idleUdpSessionMs) this.#end(client);
  }

  #receive(data: Buffer, address: string, port: number): void {
    const client = `${address}:${port}`;
    const session = this.#sessions.use(client) ?? this.#begin(client, address, port);
    if (session === undefined) return;
    session.usedMs = this.#clock.monotonic();
    if (session.waiting === undefined) send(session.socket, data);
    else if (session.waiting.length < servicesLimits.waitingDatagrams) session.waiting.push(data);
  }

  #begin(client: string, address: string, port: number): UdpSession | undefined {
    const nowMs = this.#clock.monotonic();
    const [backend] = this.#balancer.order(address, nowMs);
    if (backend === undefined) return undefined;
    const [oldest] = this.#sessions.keys();
    const isFull = this.#sessions.size >= servicesLimits.udpSessionsPerAddress;
    if ((isFull || this.#count.open >= servicesLimits.udpSessions) && oldest !== undefined) this.#end(oldest);
    if (this.#count.open >= servicesLimits.udpSessions) return undefined;
    const socket = createSocket({ type: 'udp4' });
    const session: UdpSession = { backend, socket, waiting: [], usedMs: nowMs };
    this.#sessions.set(client, session);
    this.#count.open++;
    // Nobody listens there, as ICMP told: the next datagram goes to the next endpoint.
    socket.on('error', () => this.#endOf(client, session));
    socket.on('message', (data) => {
      session.usedMs = this.#clock.monotonic();
      if (this.#socket !== undefined) send(this.#socket, data, port, address);
    });
    // Without a route the socket stays unconnected, and only this call tells.
    const connected = (error?: Error | null): void => {
      if (error !== undefined && error !== null) {
        this.#endOf(client, session);
        return;
      }
      const waiting = session.waiting ?? [];
      session.waiting = undefined;
      if (this.#sessions.get(client) !== session) return;
      for (const data of waiting) send(socket, data);
    };
    socket.connect(backend.port, backend.address, connected);
    this.#balancer.reached(address, backend, nowMs);
    return session;
  }

  #endOf(client: string, session: UdpSession): void {
    if (this.#sessions.get(client) === session) this.#end(client);
  }

  #end(client: string): void {
    const session = this.#sessions.get(client);
    if (session === undefined) return;
    this.#sessions.delete(client);
    this.#count.open--;
    session.socket.close();
  }
}

/** A datagram that the kernel does not take at once may be dropped: UDP promises nothing. */
function send(socket: Socket, data: Buffer, port?: number, address?: string): void {
  if (socket.getSendQueueSize() > servicesLimits.udpQueueBytes) return;
  if (port === undefined) socket.send(data, () => undefined);
  else socket.send(data, port, address, () => undefined);
}
