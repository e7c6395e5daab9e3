/** For tests: a pair of connected sockets, with SPDY on both. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { systemClock } from '../async/index.js';
import { SpdyConnection, type SpdyConnectionOptions } from './spdy/connection.js';

export interface SocketPair {
  readonly client: Socket;
  readonly server: Socket;
}

export async function socketPair(): Promise<SocketPair> {
  const listener = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const address = listener.address();
  if (address === null || typeof address === 'string') throw new Error('no address');
  const accepted = once(listener, 'connection');
  const client = connect(address.port, '127.0.0.1');
  const [server] = (await accepted) as [Socket];
  await once(client, 'connect');
  listener.close();
  return { client, server };
}

export interface SpdyPair {
  readonly client: SpdyConnection;
  readonly server: SpdyConnection;
}

export async function spdyPair(onStream: NonNullable<SpdyConnectionOptions['onStream']>): Promise<SpdyPair> {
  const sockets = await socketPair();
  const common = { head: Buffer.alloc(0), clock: systemClock };
  return {
    client: new SpdyConnection({ ...common, socket: sockets.client, role: 'client' }),
    server: new SpdyConnection({ ...common, socket: sockets.server, role: 'server', onStream }),
  };
}

/** A connection whose peer sends what a test writes, and reads only on request. */
export class TestWire extends Duplex {
  readonly taken: Buffer[] = [];
  readonly #said: Buffer[] = [];
  #wanted = false;
  #reads: boolean;
  #waiting: (() => void) | undefined;

  constructor({ peerReads }: { readonly peerReads: boolean }) {
    super({ allowHalfOpen: true, readableHighWaterMark: 1 });
    this.#reads = peerReads;
  }

  /** Sends bytes from the peer. Resolves when they were read, or after a few turns. */
  async say(bytes: Buffer): Promise<void> {
    this.#said.push(bytes);
    this.#hand();
    for (let turn = 0; turn < 20 && this.unheard > 0; turn++) {
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** Chunks that were not read, as in a kernel buffer. */
  get unheard(): number {
    return this.#said.length;
  }

  peerReads(): void {
    this.#reads = true;
    this.#waiting?.();
  }

  override _read(): void {
    this.#wanted = true;
    this.#hand();
  }

  #hand(): void {
    const next = this.#wanted ? this.#said.shift() : undefined;
    if (next === undefined) return;
    this.#wanted = false;
    this.push(next);
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    const take = (): void => {
      this.taken.push(chunk);
      done();
    };
    if (this.#reads) take();
    else this.#waiting = take;
  }
}
