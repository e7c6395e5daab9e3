/** Buffers what a stream received and nobody has read. Its memory is bounded, however small the chunks are. */
import type { Readable } from 'node:stream';

/**
 * A Readable counts the bytes of its chunks, but not the overhead of about a hundred bytes per chunk. So it gets one
 * chunk at a time, and the bytes that arrive meanwhile are collected in one buffer. The stream's own high-water mark
 * must be 1.
 */
export class UnreadBytes {
  readonly #stream: Readable;
  readonly #windowBytes: number;
  #waiting: Buffer | undefined;
  #waitingBytes = 0;
  /** Whether the stream wants another chunk. */
  #wanted = false;
  #ended = false;
  /** Whether senders no longer wait, because the connection has ended. */
  #released = false;
  #whenRoom: (() => void) | undefined;

  constructor(stream: Readable, windowBytes: number) {
    this.#stream = stream;
    this.#windowBytes = windowBytes;
  }

  get length(): number {
    return this.#stream.readableLength + this.#waitingBytes;
  }

  get hasEnded(): boolean {
    return this.#ended;
  }

  /** Undefined, or a promise that resolves when there is room. Add nothing more until then. */
  add(bytes: Buffer): Promise<void> | undefined {
    if (this.#ended || this.#stream.destroyed || bytes.length === 0) return undefined;
    if (this.#wanted) this.#push(bytes);
    else this.#collect(bytes);
    if (this.#released || this.length <= this.#windowBytes) return undefined;
    return new Promise((resolve) => {
      this.#whenRoom = resolve;
    });
  }

  /** No more bytes follow. The reader gets the buffered bytes first. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    if (!this.#stream.destroyed) {
      this.#pushWaiting();
      this.#stream.push(null);
    }
    this.#whenRoom?.();
  }

  /** For the stream's `read`, after it may have returned a chunk. */
  wasRead(): void {
    if (this.length <= this.#windowBytes) this.#whenRoom?.();
  }

  /** For the stream's `_read`. */
  isWanted(): void {
    this.#wanted = true;
    this.#pushWaiting();
    this.wasRead();
  }

  /** Ends all waits for room, now and later, because the connection has ended. */
  release(): void {
    this.#released = true;
    this.#whenRoom?.();
  }

  /** For the stream's `_destroy`: drops the buffered bytes. */
  drop(): void {
    this.#waiting = undefined;
    this.#waitingBytes = 0;
    this.#whenRoom?.();
  }

  #pushWaiting(): void {
    const waiting = this.#waiting?.subarray(0, this.#waitingBytes);
    this.#waiting = undefined;
    this.#waitingBytes = 0;
    if (waiting !== undefined) this.#push(waiting);
  }

  #push(bytes: Buffer): void {
    // `push` may call `_read` before it returns.
    this.#wanted = false;
    if (this.#stream.push(bytes)) this.#wanted = true;
  }

  #collect(bytes: Buffer): void {
    const neededBytes = this.#waitingBytes + bytes.length;
    if (this.#waiting === undefined || neededBytes > this.#waiting.length) {
      const roomBytes = Math.max(neededBytes, Math.min(2 * neededBytes, this.#windowBytes));
      const grown = Buffer.allocUnsafeSlow(roomBytes);
      this.#waiting?.copy(grown, 0, 0, this.#waitingBytes);
      this.#waiting = grown;
    }
    bytes.copy(this.#waiting, this.#waitingBytes);
    this.#waitingBytes = neededBytes;
  }
}
