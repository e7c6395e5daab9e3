/** One stream of a SPDY connection as a Duplex whose directions end independently (SPDY/3.1, section 2.3.6). */
import { Duplex } from 'node:stream';
import { streamingLimits } from '../limits.js';
import { UnreadBytes } from '../unread-bytes.js';
import { RstStatus } from './frames.js';
import type { SpdyHeaders } from './header-blocks.js';

/** How much a stream buffers for its reader before the sender must wait. */
export const streamWindowBytes = streamingLimits.windowBytes;

/** What a stream needs from its connection. */
export interface StreamLink {
  /** Resolves when there is room for more. Drops the bytes and resolves when the stream was reset. */
  sendData(stream: SpdyStream, bytes: Buffer, fin: boolean): Promise<void>;
  sendReply(stream: SpdyStream): void;
  sendReset(stream: SpdyStream, status: number): void;
  sendWindowUpdate(stream: SpdyStream, deltaBytes: number): void;
  forget(stream: SpdyStream): void;
  /** The stream buffers this much more, or less, for its reader. */
  heldChanged(deltaBytes: number): void;
}

export class SpdyStream extends Duplex {
  readonly id: number;
  readonly headers: SpdyHeaders;
  readonly #link: StreamLink;
  #resetBy: Error | undefined;
  readonly #unread: UnreadBytes;
  #heldBytes = 0;
  #localEnded = false;
  #receivedBytes = 0;
  #acknowledgedBytes = 0;
  #whenWindow: (() => void) | undefined;
  /** How much the peer lets us send; infinite for a peer without flow control. */
  #sendWindowBytes = Number.POSITIVE_INFINITY;
  #sentBytes = 0;

  constructor(id: number, headers: SpdyHeaders, link: StreamLink) {
    super({
      allowHalfOpen: true,
      readableHighWaterMark: 1,
      writableHighWaterMark: streamingLimits.unsentBytes,
    });
    this.id = id;
    this.headers = headers;
    this.#link = link;
    this.#unread = new UnreadBytes(this, streamWindowBytes);
  }

  /** Why the stream was reset. Bytes that arrived before can still be read; then the stream ends. */
  get resetBy(): Error | undefined {
    return this.#resetBy;
  }

  /** Accepts a stream of the client with SYN_REPLY (section 2.6.2). */
  accept(): void {
    this.#link.sendReply(this);
  }

  refuse(status: number = RstStatus.refusedStream): void {
    this.#link.sendReset(this, status);
    this.#link.forget(this);
    this.cut(new Error('the stream was refused'));
  }

  // The interface for the connection.

  /** Undefined, or a promise that resolves when the reader has made room. Deliver nothing more until then. */
  deliver(bytes: Buffer): Promise<void> | undefined {
    if (this.destroyed || this.#unread.hasEnded) return undefined;
    this.#receivedBytes += bytes.length;
    const room = this.#unread.add(bytes);
    this.#acknowledge();
    return room;
  }

  /** The peer sends no more. */
  endFromPeer(): void {
    if (this.#unread.hasEnded) return;
    this.#unread.end();
    if (this.#localEnded) this.#link.forget(this);
  }

  /** Ends both directions, because the stream was reset or the connection has ended. */
  cut(reason: Error): void {
    this.#resetBy ??= reason;
    this.#localEnded = true;
    this.endFromPeer();
    this.#whenWindow?.();
    this.emit('cut', reason);
  }

  /** Ends the wait for the reader, because the connection has ended. */
  release(): void {
    this.#unread.release();
  }

  setInitialSendWindow(bytes: number): void {
    if (this.#sendWindowBytes === Number.POSITIVE_INFINITY) this.#sendWindowBytes = bytes - this.#sentBytes;
  }

  growSendWindow(deltaBytes: number): void {
    this.#sendWindowBytes += deltaBytes;
    this.#whenWindow?.();
  }

  /** Waits until at least one byte may be sent and returns how many. 0: the stream was reset. */
  async takeSendWindow(wantedBytes: number): Promise<number> {
    while (this.#sendWindowBytes <= 0 && this.#resetBy === undefined) {
      await new Promise<void>((resolve) => {
        this.#whenWindow = resolve;
      });
    }
    if (this.#resetBy !== undefined) return 0;
    const bytes = Math.min(wantedBytes, this.#sendWindowBytes);
    this.#sendWindowBytes -= bytes;
    this.#sentBytes += bytes;
    return bytes;
  }

  // The interface of Node's Duplex.

  override read(size?: number): unknown {
    const chunk: unknown = super.read(size);
    this.#unread.wasRead();
    this.#acknowledge();
    return chunk;
  }

  override _read(): void {
    this.#unread.isWanted();
    this.#acknowledge();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#link.sendData(this, chunk, false).then(() => done(), done);
  }

  override _final(done: (error?: Error | null) => void): void {
    const ended = (): void => {
      this.#localEnded = true;
      if (this.#unread.hasEnded) this.#link.forget(this);
      done();
    };
    if (this.#resetBy === undefined) this.#link.sendData(this, Buffer.alloc(0), true).then(ended, done);
    else ended();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (!(this.#localEnded && this.#unread.hasEnded)) {
      this.#link.sendReset(this, RstStatus.cancel);
      this.#resetBy ??= error ?? new Error('the stream was closed');
    }
    this.#link.forget(this);
    this.#localEnded = true;
    this.#unread.end();
    this.#unread.drop();
    this.#link.heldChanged(-this.#heldBytes);
    this.#heldBytes = 0;
    this.#whenWindow?.();
    done(error);
  }

  /** How much arrived and was not read. */
  get heldBytes(): number {
    return this.#unread.length;
  }

  /** Reports the buffered bytes to the connection and the read bytes to the peer, at most one frame per half window. */
  #acknowledge(): void {
    if (this.destroyed) return;
    const { length } = this.#unread;
    if (length !== this.#heldBytes) {
      this.#link.heldChanged(length - this.#heldBytes);
      this.#heldBytes = length;
    }
    const readBytes = this.#receivedBytes - length - this.#acknowledgedBytes;
    if (readBytes < streamWindowBytes / 2 || this.#unread.hasEnded) return;
    this.#acknowledgedBytes += readBytes;
    this.#link.sendWindowUpdate(this, readBytes);
  }
}
