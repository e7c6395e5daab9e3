/** What came for a stream and was not read yet: bounded in bytes, and in memory however small the chunks are. */
import type { Readable } from 'node:stream';

/**
 * A readable stream counts the bytes of its chunks, not what the chunks themselves take, some hundred bytes each. So
 * it gets one chunk at a time, and what comes before that is read is collected in one buffer. The stream's own
 * high-water mark must be 1.
 */
export class UnreadBytes {
  readonly #stream: Readable;
  readonly #windowBytes: number;
  #waiting: Buffer | undefined;
  #waitingBytes = 0;
  /** Whether the stream takes another chunk. */
  #wanted = false;
  #ended = false;
  /** Whether nobody is made to wait: the connection is gone, and little can come after. */
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

  /** Undefined, or a promise for when there is room: nothing more may be added until then. */
  add(bytes: Buffer): Promise<void> | undefined {
    if (this.#ended || this.#stream.destroyed || bytes.length === 0) return undefined;
    if (this.#wanted) this.#push(bytes);
    else this.#collect(bytes);
    if (this.#released || this.length <= this.#windowBytes) return undefined;
    return new Promise((resolve) => {
      this.#whenRoom = resolve;
    });
  }

  /** Nothing more comes; what has come is read first. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    if (!this.#stream.destroyed) {
      this.#pushWaiting();
      this.#stream.push(null);
    }
    this.#whenRoom?.();
  }

  /** For the stream's `read`, after a chunk may have left it. */
  wasRead(): void {
    if (this.length <= this.#windowBytes) this.#whenRoom?.();
  }

  /** For the stream's `_read`. */
  isWanted(): void {
    this.#wanted = true;
    this.#pushWaiting();
    this.wasRead();
  }

  /** Nobody waits for room any more, now or later: the connection is gone. */
  release(): void {
    this.#released = true;
    this.#whenRoom?.();
  }

  /** For the stream's `_destroy`: nobody will read what has come. */
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
    // It may ask for more while it takes this.
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
