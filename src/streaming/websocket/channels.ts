/** Many streams over one WebSocket (Kubernetes channel.k8s.io): the first byte of a message is its channel number. */
import { Duplex } from 'node:stream';
import { streamingLimits } from '../limits.js';
import type { WebSocketProtocol } from '../protocols.js';
import { UnreadBytes } from '../unread-bytes.js';
import { WebSocketConnection, type WebSocketConnectionOptions } from './connection.js';
import { type MessagePart, WebSocketError } from './frames.js';

const closeSignal = 255;

export interface WebSocketChannelsOptions extends Omit<WebSocketConnectionOptions, 'onMessage'> {
  readonly protocol: WebSocketProtocol;
  /** The channel numbers; true for those that the client may write to. */
  readonly channels: ReadonlyMap<number, boolean>;
}

export class WebSocketChannels {
  readonly connection: WebSocketConnection;
  readonly #protocol: WebSocketProtocol;
  readonly #channels = new Map<number, WebSocketChannel>();
  /** The channel of the message that has begun. */
  #receiver: WebSocketChannel | undefined;
  /** The base64 digits that do not make three bytes yet. */
  #digits = '';

  constructor(options: WebSocketChannelsOptions) {
    this.#protocol = options.protocol;
    for (const [number, readable] of options.channels) {
      this.#channels.set(number, new WebSocketChannel(readable, (bytes) => this.send(number, bytes)));
    }
    this.connection = new WebSocketConnection({
      ...options,
      onMessage: (part) => this.#receive(part),
    });
    options.socket.once('close', () => {
      for (const channel of this.#channels.values()) channel.release();
    });
    void this.connection.closed.then(() => {
      for (const channel of this.#channels.values()) channel.endFromPeer();
    });
  }

  /** A channel of `options.channels`. Its end is not sent to the client. */
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

  #receive({ data, binary, first, last }: MessagePart): Promise<void> | undefined {
    if (!first) return this.#deliver(data, last);
    const number = data[0];
    this.#receiver = undefined;
    this.#digits = '';
    if (number === undefined) return undefined;
    if (binary && number === closeSignal && this.#protocol.closeSignal) {
      const closed = last && data.length === 2 ? this.#channels.get(data[1] ?? -1) : undefined;
      if (closed === undefined) throw new WebSocketError('received a close signal for an unknown channel');
      closed.endFromPeer();
      return undefined;
    }
    const base64 = this.#protocol.encoding === 'base64';
    this.#receiver = this.#channels.get(base64 ? number - 0x30 : number);
    return this.#deliver(data.subarray(1), last);
  }

  #deliver(data: Buffer, last: boolean): Promise<void> | undefined {
    if (this.#protocol.encoding === 'binary') return this.#receiver?.deliver(data);
    // Four base64 digits make three bytes.
    const digits = this.#digits + data.toString('latin1');
    const whole = last ? digits.length : digits.length - (digits.length % 4);
    this.#digits = digits.slice(whole);
    return this.#receiver?.deliver(Buffer.from(digits.slice(0, whole), 'base64'));
  }
}

/** One channel as a Duplex whose directions end independently. */
export class WebSocketChannel extends Duplex {
  readonly #send: (bytes: Buffer) => Promise<void>;
  readonly #fromClient: boolean;
  readonly #unread: UnreadBytes;

  constructor(fromClient: boolean, send: (bytes: Buffer) => Promise<void>) {
    super({
      allowHalfOpen: true,
      readableHighWaterMark: 1,
      writableHighWaterMark: streamingLimits.unsentBytes,
    });
    this.#fromClient = fromClient;
    this.#send = send;
    this.#unread = new UnreadBytes(this, streamingLimits.windowBytes);
  }

  /** Undefined, or a promise that resolves when the reader has made room. Deliver nothing more until then. */
  deliver(bytes: Buffer): Promise<void> | undefined {
    return this.#fromClient ? this.#unread.add(bytes) : undefined;
  }

  endFromPeer(): void {
    this.#unread.end();
  }

  /** Ends the wait for the reader, because the connection has ended. */
  release(): void {
    this.#unread.release();
  }

  override read(size?: number): unknown {
    const chunk: unknown = super.read(size);
    this.#unread.wasRead();
    return chunk;
  }

  override _read(): void {
    this.#unread.isWanted();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#send(chunk).then(() => done(), done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#unread.drop();
    done(error);
  }
}
