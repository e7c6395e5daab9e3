/** One stream of a SPDY connection as a Duplex whose two directions end independently of each other. */
import { Duplex } from 'node:stream';
import { streamingLimits } from '../limits.js';
import { UnreadBytes } from '../unread-bytes.js';
import { RstStatus } from './frames.js';
import type { SpdyHeaders } from './header-blocks.js';

/** What a stream holds for its reader before the sender has to wait. */
export const streamWindowBytes = streamingLimits.windowBytes;

/** What a stream needs of its connection. */
export interface StreamLink {
  /** Resolves when there is room for more; also, with the bytes dropped, when the stream was reset. */
  sendData(stream: SpdyStream, bytes: Buffer, fin: boolean): Promise<void>;
  sendReply(stream: SpdyStream): void;
  sendReset(stream: SpdyStream, status: number): void;
  sendWindowUpdate(stream: SpdyStream, deltaBytes: number): void;
  forget(stream: SpdyStream): void;
  /** What the stream holds for its reader has changed by so much. */
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
  /** What the peer lets us send; without end where it does not count. */
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

  /** Why the stream was cut; what was received before can still be read, and then its end comes. */
  get resetBy(): Error | undefined {
    return this.#resetBy;
  }

  /** A server's yes to a stream of the client's. */
  accept(): void {
    this.#link.sendReply(this);
  }

  refuse(status: number = RstStatus.refusedStream): void {
    this.#link.sendReset(this, status);
    this.#link.forget(this);
    this.cut(new Error('the stream was refused'));
  }

  // The connection's side.

  /** Undefined, or a promise for when the reader has made room: nothing more may be delivered until then. */
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

  /** The stream is over in both directions, by a reset or with its connection. */
  cut(reason: Error): void {
    this.#resetBy ??= reason;
    this.#localEnded = true;
    this.endFromPeer();
    this.#whenWindow?.();
    this.emit('cut', reason);
  }

  /** Ends the wait for a reader, which may take for ever; the connection is gone. */
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

  /** How many of the bytes may be sent now; waits until it is at least one. 0: the stream was cut. */
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

  // Node's side.

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

  /** What came and was not read. */
  get heldBytes(): number {
    return this.#unread.length;
  }

  /** Tells the connection what is held, and the peer what was read, in steps that are worth a frame. */
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
