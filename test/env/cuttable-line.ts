/** A line between a client and a server that a test can cut, jam and slow down without the doing of either end. */
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import type { CleanupStack } from './tempdir.js';

export type LineTrouble =
  | { readonly kind: 'none' }
  /** Nobody listens. Connections that are open stay so. */
  | { readonly kind: 'refuse' }
  /** Connections are taken and kept, and no byte passes; those of this time never come to life again. */
  | { readonly kind: 'black-hole' }
  /** What the client sends arrives; the connection is reset after this many bytes of the server's answers. */
  | { readonly kind: 'cut-answers'; readonly afterBytes: number }
  /** Each chunk comes this much later. */
  | { readonly kind: 'delay'; readonly delayMs: number };

export interface LineOptions {
  /** Closes the line when it is run. */
  readonly cleanups: CleanupStack;
  /** Where both ends are. */
  readonly host: string;
  readonly serverPort: number;
}

export async function openLine({ cleanups, host, serverPort }: LineOptions): Promise<CuttableLine> {
  const line = new CuttableLine(host, serverPort);
  await line.listen();
  cleanups.defer('line to the server', () => line.close());
  return line;
}

interface Wire {
  readonly client: Socket;
  readonly server: Socket;
  /** Bytes that the server has sent since the trouble of now began. */
  answered: number;
  isDead: boolean;
}

export class CuttableLine {
  readonly #host: string;
  readonly #serverPort: number;
  readonly #wires = new Set<Wire>();
  #listener: Server | undefined;
  #trouble: LineTrouble = { kind: 'none' };
  #cuts = 0;
  #opened = 0;
  port = 0;

  constructor(host: string, serverPort: number) {
    this.#host = host;
    this.#serverPort = serverPort;
  }

  /** Connections that are open now. */
  get connections(): number {
    return this.#wires.size;
  }

  /** Connections that were ever opened. */
  get opened(): number {
    return this.#opened;
  }

  /** Connections that were cut in the middle of an answer. */
  get cuts(): number {
    return this.#cuts;
  }

  async listen(): Promise<void> {
    const listener = createServer((client) => this.#take(client));
    this.#listener = listener;
    await new Promise<void>((resolve, reject) => {
      listener.once('error', reject);
      listener.listen(this.port, this.#host, resolve);
    });
    const address = listener.address();
    if (address === null || typeof address === 'string') throw new Error('the line has no port');
    this.port = address.port;
  }

  /** From now on; connections that are open are part of it, but for `refuse`. */
  async set(trouble: LineTrouble): Promise<void> {
    this.#trouble = trouble;
    for (const wire of this.#wires) {
      wire.answered = 0;
      if (trouble.kind === 'black-hole') silence(wire);
    }
    if (trouble.kind === 'refuse') await this.#stopListening();
    else if (this.#listener === undefined) await this.listen();
  }

  /** Ends every open connection as a router does that lost its memory. */
  reset(): void {
    for (const wire of this.#wires) cut(wire);
  }

  async close(): Promise<void> {
    this.reset();
    await this.#stopListening();
  }

  async #stopListening(): Promise<void> {
    const listener = this.#listener;
    this.#listener = undefined;
    // It ends only when its connections do, which need not be waited for.
    listener?.close();
  }

  #take(client: Socket): void {
    const server = createConnection({ host: this.#host, port: this.#serverPort });
    const wire: Wire = { client, server, answered: 0, isDead: false };
    this.#wires.add(wire);
    this.#opened++;
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      from.setNoDelay(true);
      from.on('error', () => undefined);
      from.on('data', (chunk) => this.#pass(wire, from, to, chunk));
      from.on('end', () => to.end());
      from.on('close', () => {
        this.#wires.delete(wire);
        to.destroy();
      });
    }
    if (this.#trouble.kind === 'black-hole') silence(wire);
  }

  #pass(wire: Wire, from: Socket, to: Socket, chunk: Buffer): void {
    const trouble = this.#trouble;
    switch (trouble.kind) {
      case 'cut-answers': {
        if (from === wire.client) break;
        const rest = trouble.afterBytes - wire.answered;
        wire.answered += chunk.length;
        if (chunk.length <= rest) break;
        this.#cuts++;
        to.write(chunk.subarray(0, Math.max(rest, 0)), () => cut(wire));
        return;
      }
      case 'delay':
        setTimeout(() => {
          if (!to.destroyed) to.write(chunk);
        }, trouble.delayMs);
        return;
      case 'black-hole':
      case 'refuse':
      case 'none':
        break;
    }
    // A reader that is slow slows the writer down.
    if (!to.write(chunk)) {
      from.pause();
      to.once('drain', () => {
        if (!wire.isDead) from.resume();
      });
    }
  }
}

function silence(wire: Wire): void {
  wire.isDead = true;
  wire.client.pause();
  wire.server.pause();
}

function cut({ client, server }: Wire): void {
  client.resetAndDestroy();
  server.resetAndDestroy();
}
