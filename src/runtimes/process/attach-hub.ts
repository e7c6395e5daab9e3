/** The supervisor's side of attach: sends the container's output to all clients, and takes their input. */
import { createServer, type Server, type Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { type AttachWish, attachSocketName, outputFrame, parseWish } from './attach-frames.js';
import type { OutputStream } from './container-log-writer.js';

const mostClients = 32;
/** A client that reads nothing for this long is cut off, since it blocks the container. */
const patienceMs = 10_000;
/** How long clients may take to read the last output. */
const farewellMs = 2_000;

export interface AttachHubOptions {
  /** The container's directory. */
  readonly directory: string;
  readonly input: Writable | undefined;
  /** Whether the first client that ends its input also ends the container's. */
  readonly inputOnce: boolean;
  readonly outputs: readonly Readable[];
  readonly onProblem: (error: unknown) => void;
}

interface AttachClient {
  readonly socket: Socket;
  readonly wish: AttachWish;
}

export class AttachHub {
  readonly #options: AttachHubOptions;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #clients = new Set<AttachClient>();
  /** Clients without room for more output; while there are any, the container waits. */
  readonly #slow = new Set<AttachClient>();

  constructor(options: AttachHubOptions) {
    this.#options = options;
    this.#server = createServer({ allowHalfOpen: true }, (socket) => this.#welcome(socket));
    this.#server.maxConnections = mostClients;
    // The container runs all the same, but nobody can attach to it.
    this.#server.on('error', options.onProblem);
    // Socket paths must be short; relative to its directory, this one is.
    const before = process.cwd();
    process.chdir(options.directory);
    try {
      this.#server.listen(attachSocketName);
    } finally {
      process.chdir(before);
    }
  }

  write(stream: OutputStream, bytes: Buffer): void {
    if (this.#clients.size === 0) return;
    const frame = outputFrame(stream, bytes);
    for (const client of this.#clients) {
      if (client.wish[stream] && !client.socket.write(frame)) this.#waitFor(client);
    }
  }

  /** Resolves when all clients have the last output, or ran out of time. */
  async close(): Promise<void> {
    this.#server.close();
    const leaving = [...this.#sockets].map(
      (socket) =>
        new Promise<void>((resolve) => {
          const timer = setTimeout(() => socket.destroy(), farewellMs);
          socket.once('close', () => {
            clearTimeout(timer);
            resolve();
          });
          socket.end(() => socket.destroy());
        }),
    );
    await Promise.all(leaving);
  }

  #welcome(socket: Socket): void {
    this.#sockets.add(socket);
    // The close event follows.
    socket.on('error', () => {});
    let heard: Buffer = Buffer.alloc(0);
    const onData = (chunk: Buffer): void => {
      heard = Buffer.concat([heard, chunk]);
      try {
        const parsed = parseWish(heard);
        if (parsed === undefined) return;
        socket.off('data', onData);
        this.#attach({ socket, wish: parsed.wish }, parsed.rest);
      } catch {
        socket.destroy();
      }
    };
    socket.on('data', onData);
    socket.once('close', () => this.#sockets.delete(socket));
  }

  #attach(client: AttachClient, first: Buffer): void {
    const { socket, wish } = client;
    const { input, inputOnce } = this.#options;
    this.#clients.add(client);
    socket.once('close', () => {
      this.#clients.delete(client);
      this.#goOn(client);
      if (wish.stdin && inputOnce) input?.end();
    });
    if (!wish.stdin || input === undefined) {
      socket.resume();
      return;
    }
    const onDrain = (): void => void socket.resume();
    const take = (chunk: Buffer): void => {
      if (!input.writable || input.write(chunk)) return;
      socket.pause();
      input.once('drain', onDrain);
    };
    if (first.length > 0) take(first);
    socket.on('data', take);
    socket.once('end', () => {
      if (inputOnce) input.end();
    });
    socket.once('close', () => input.off('drain', onDrain));
  }

  #waitFor(client: AttachClient): void {
    if (this.#slow.has(client)) return;
    this.#slow.add(client);
    for (const output of this.#options.outputs) output.pause();
    const timer = setTimeout(() => client.socket.destroy(), patienceMs);
    client.socket.once('drain', () => {
      clearTimeout(timer);
      this.#goOn(client);
    });
    client.socket.once('close', () => clearTimeout(timer));
  }

  #goOn(client: AttachClient): void {
    if (!this.#slow.delete(client) || this.#slow.size > 0) return;
    for (const output of this.#options.outputs) output.resume();
  }
}
