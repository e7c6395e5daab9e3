/** Listens for queries, by datagrams and connections, at the address that pods have as their server of names. */
import { createSocket, type Socket as DatagramSocket } from 'node:dgram';
import { createServer, type Server, type Socket } from 'node:net';
import { type Clock, errorText, isCancelled, sleep, TaskGroup } from '../../async/index.js';
import type { Timeline } from '../../timeline/index.js';
import { servicesLimits } from '../limits.js';
import { MessageReader } from './message-reader.js';
import type { DnsResponder } from './responder.js';

export interface DnsServerOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly address: string;
  /** Default 53. */
  readonly port?: number;
  readonly responder: DnsResponder;
}

const defaultPort = 53;
const retryMs = 5_000;

export class DnsServer {
  readonly #options: DnsServerOptions;
  #udp: DatagramSocket | undefined;
  #tcp: Server | undefined;
  #queries = 0;
  readonly #connections = new Map<Socket, string>();
  #toldProblem: string | undefined;

  constructor(options: DnsServerOptions) {
    this.#options = options;
  }

  get isListening(): boolean {
    return this.#udp !== undefined && this.#tcp !== undefined;
  }

  /** Runs until the signal aborts; an address that cannot be had is tried again. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, timeline } = this.#options;
    const tasks = new TaskGroup({
      signal,
      onError: (_, error) =>
        timeline.record({
          kind: 'problem',
          what: 'services.task',
          message: 'a query of a name was not answered',
          error,
        }),
    });
    try {
      while (!(await this.#listen(tasks))) await sleep(clock, retryMs, signal);
      await new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    } catch (error) {
      if (!isCancelled(error)) throw error;
    } finally {
      this.#close();
      await tasks.stop();
    }
  }

  async #listen(tasks: TaskGroup): Promise<boolean> {
    const { address, port = defaultPort, timeline } = this.#options;
    try {
      this.#udp = await this.#listenUdp(address, port, tasks);
      this.#tcp = await this.#listenTcp(address, port, tasks);
    } catch (error) {
      this.#close();
      const because = errorText(error);
      if (because === this.#toldProblem) return false;
      this.#toldProblem = because;
      const message = `names of Services cannot be served at ${address}:${port}`;
      timeline.record({ kind: 'problem', what: 'services.dns', message, because });
      return false;
    }
    this.#toldProblem = undefined;
    timeline.record({
      kind: 'effect',
      what: 'services.dns',
      message: `names of Services are served at ${address}:${port}`,
    });
    return true;
  }

  async #listenUdp(address: string, port: number, tasks: TaskGroup): Promise<DatagramSocket> {
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
    // Of single datagrams; the socket goes on.
    socket.on('error', () => undefined);
    socket.on('message', (packet, { address: from, port: fromPort }) => {
      // A client asks again when it hears nothing.
      if (this.#queries >= servicesLimits.dnsQueries) return;
      this.#queries++;
      tasks.start('a query', async (signal) => {
        try {
          const answer = await this.#options.responder.respond(packet, 'udp', signal);
          if (answer !== undefined && this.#udp === socket)
            socket.send(answer, fromPort, from, () => undefined);
        } finally {
          this.#queries--;
        }
      });
    });
    return socket;
  }

  async #listenTcp(address: string, port: number, tasks: TaskGroup): Promise<Server> {
    const server = createServer({ allowHalfOpen: true }, (socket) => {
      socket.on('error', () => undefined);
      const client = socket.remoteAddress ?? '';
      const held = [...this.#connections.values()].filter((each) => each === client).length;
      if (
        this.#connections.size >= servicesLimits.dnsConnections ||
        held >= servicesLimits.dnsConnectionsPerClient
      ) {
        socket.destroy();
        return;
      }
      this.#connections.set(socket, client);
      socket.once('close', () => this.#connections.delete(socket));
      tasks.start('a connection', (signal) => this.#serve(socket, signal));
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host: address, port, exclusive: true }, () => {
        server.off('error', reject);
        resolve();
      });
    });
    server.on('error', () => undefined);
    return server;
  }

  /** One query after the other; the bytes of later ones wait in the kernel. */
  async #serve(socket: Socket, signal: AbortSignal): Promise<void> {
    const { clock, responder } = this.#options;
    const idle = (): ReturnType<Clock['setTimer']> =>
      clock.setTimer(servicesLimits.dnsConnectionIdleMs, () => socket.destroy());
    let timer = idle();
    const reader = new MessageReader(servicesLimits.dnsQueryBytes);
    try {
      for await (const chunk of socket) {
        // Without an encoding a socket gives buffers.
        for (const packet of reader.read(chunk as Buffer)) {
          const answer = await responder.respond(packet, 'tcp', signal);
          timer.cancel();
          timer = idle();
          if (answer === undefined || socket.destroyed) return;
          const length = Buffer.from([answer.length >> 8, answer.length & 0xff]);
          if (!socket.write(Buffer.concat([length, answer]))) await drained(socket);
        }
      }
      socket.end();
    } catch (error) {
      // A connection that was cut, or by which no message came.
      if (signal.aborted || isCancelled(error)) return;
    } finally {
      timer.cancel();
      if (!socket.writableEnded) socket.destroy();
    }
  }

  #close(): void {
    this.#udp?.close();
    this.#udp = undefined;
    this.#tcp?.close();
    this.#tcp = undefined;
    for (const socket of this.#connections.keys()) socket.destroy();
  }
}

/** Until the client has read, or is gone. */
function drained(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      socket.off('drain', done);
      socket.off('close', done);
      resolve();
    };
    socket.once('drain', done);
    socket.once('close', done);
    if (socket.destroyed) done();
  });
}
