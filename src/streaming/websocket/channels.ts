/** Many streams over one WebSocket: the first byte of every message is the number of its channel. */
import { Duplex } from 'node:stream';
import type { WebSocketProtocol } from '../protocols.js';
import { WebSocketConnection, type WebSocketConnectionOptions } from './connection.js';
import { WebSocketError } from './frames.js';

const closeSignal = 255;
/** What a channel holds for its reader before nothing more is read from the connection. */
const channelWindowBytes = 256 * 1024;

export interface WebSocketChannelsOptions extends Omit<WebSocketConnectionOptions, 'onMessage'> {
  readonly protocol: WebSocketProtocol;
  /** The numbers of the channels; those that the client may write on are true. */
  readonly channels: ReadonlyMap<number, boolean>;
}

export class WebSocketChannels {
  readonly connection: WebSocketConnection;
  readonly #protocol: WebSocketProtocol;
  readonly #channels = new Map<number, WebSocketChannel>();

  constructor(options: WebSocketChannelsOptions) {
    this.#protocol = options.protocol;
    for (const [number, readable] of options.channels) {
      this.#channels.set(number, new WebSocketChannel(readable, (bytes) => this.send(number, bytes)));
    }
    this.connection = new WebSocketConnection({
      ...options,
      onMessage: (data, binary) => this.#receive(data, binary),
    });
    void this.connection.closed.then(() => {
      for (const channel of this.#channels.values()) channel.endFromPeer();
    });
  }

  /** A channel of those that were named; its end is not told to the client. */
  channel(number: number): WebSocketChannel {
    const channel = this.#channels.get(number);
    if (channel === undefined) throw new RangeError(`there is no channel ${number}`);
    return channel;
  }

  send(number: number, bytes: Buffer): Promise<void> {
    if (this.#protocol.encoding === 'binary') {
      return this.connection.send(Buffer.concat([Buffer.from([number]), bytes]), true);
    }
    return this.connection.send(Buffer.from(`${number}${bytes.toString('base64')}`), false);
  }

  #receive(data: Buffer, binary: boolean): Promise<void> | undefined {
    const first = data[0];
    if (first === undefined) return undefined;
    if (binary && first === closeSignal && this.#protocol.closeSignal) {
      const closed = data.length === 2 ? this.#channels.get(data[1] ?? -1) : undefined;
      if (closed === undefined) throw new WebSocketError('a close signal for a channel that is not there');
      closed.endFromPeer();
      return undefined;
    }
    const base64 = this.#protocol.encoding === 'base64';
    const number = base64 ? first - 0x30 : first;
    const bytes = base64 ? Buffer.from(data.toString('latin1', 1), 'base64') : data.subarray(1);
    return this.#channels.get(number)?.deliver(bytes);
  }
}

/** One channel as a Duplex whose two directions end independently of each other. */
export class WebSocketChannel extends Duplex {
  readonly #send: (bytes: Buffer) => Promise<void>;
  readonly #fromClient: boolean;
  #ended = false;
  #whenRoom: (() => void) | undefined;

  constructor(fromClient: boolean, send: (bytes: Buffer) => Promise<void>) {
    super({
      allowHalfOpen: true,
      readableHighWaterMark: channelWindowBytes,
      writableHighWaterMark: 64 * 1024,
    });
    this.#fromClient = fromClient;
    this.#send = send;
  }

  deliver(bytes: Buffer): Promise<void> | undefined {
    if (!this.#fromClient || this.#ended || this.destroyed || bytes.length === 0) return undefined;
    this.push(bytes);
    if (this.readableLength <= channelWindowBytes) return undefined;
    return new Promise((resolve) => {
      this.#whenRoom = resolve;
    });
  }

  endFromPeer(): void {
    if (this.#ended) return;
    this.#ended = true;
    if (!this.destroyed) this.push(null);
    this.#whenRoom?.();
  }

  override read(size?: number): unknown {
    const chunk: unknown = super.read(size);
    if (this.readableLength <= channelWindowBytes) this.#whenRoom?.();
    return chunk;
  }

  override _read(): void {
    if (this.readableLength <= channelWindowBytes) this.#whenRoom?.();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#send(chunk).then(() => done(), done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#whenRoom?.();
    done(error);
  }
}
