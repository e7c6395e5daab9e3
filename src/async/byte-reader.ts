/** Cuts bytes that come in chunks of any size into the pieces that a parser asks for. */

const nothing: Buffer = Buffer.alloc(0);
const firstRoomBytes = 64;

/**
 * A piece that is whole inside one chunk is not copied. A piece that is cut into many chunks is collected in one
 * buffer that doubles, so that each byte is copied a few times at most and no chunk is kept by itself: a peer that
 * sends byte by byte costs neither quadratic time nor an object for each byte.
 */
export class ByteReader {
  #chunk: Buffer = nothing;
  /** The beginning of a piece whose rest has not come yet. */
  #kept: Buffer = nothing;
  #keptBytes = 0;

  /** What has come and was not taken. */
  get length(): number {
    return this.#keptBytes + this.#chunk.length;
  }

  /** Take all that can be taken of one chunk before the next is added. */
  push(chunk: Buffer): void {
    // A peer may send chunks of nothing for ever.
    if (chunk.length === 0) return;
    if (this.#chunk.length > 0) this.#keep(this.#chunk, Number.POSITIVE_INFINITY);
    this.#chunk = chunk;
  }

  /** The next bytes, just so many; undefined until they have come. Ask for the same number again then, or more. */
  take(sizeBytes: number): Buffer | undefined {
    if (this.#keptBytes === 0 && this.#chunk.length >= sizeBytes) {
      const piece = this.#chunk.subarray(0, sizeBytes);
      this.#chunk = this.#chunk.subarray(sizeBytes);
      return piece;
    }
    if (this.#keptBytes < sizeBytes) {
      const part = this.#chunk.subarray(0, sizeBytes - this.#keptBytes);
      const rest = this.#chunk.subarray(part.length);
      this.#keep(part, sizeBytes);
      this.#chunk = rest;
      if (this.#keptBytes < sizeBytes) return undefined;
    }
    const piece = this.#kept.subarray(0, sizeBytes);
    const left = this.#kept.subarray(sizeBytes, this.#keptBytes);
    this.#kept = left;
    this.#keptBytes = left.length;
    return piece;
  }

  /** What is there of the next bytes, at most so many, without waiting for more. */
  takeSome(mostBytes: number): Buffer {
    return (
      this.take(Math.min(mostBytes, this.#keptBytes > 0 ? this.#keptBytes : this.#chunk.length)) ?? nothing
    );
  }

  /** All that has come, in one piece, which is good until more comes; it still can be taken. */
  peekAll(): Buffer {
    if (this.#keptBytes === 0) return this.#chunk;
    if (this.#chunk.length > 0) this.#keep(this.#chunk, Number.POSITIVE_INFINITY);
    return this.#kept.subarray(0, this.#keptBytes);
  }

  /** All that has come and was not taken, in one piece. */
  takeAll(): Buffer {
    return this.take(this.length) ?? nothing;
  }

  /** Adds to what is kept, whose room doubles with what has come: a piece that is only announced takes no memory. */
  #keep(part: Buffer, wantedBytes: number): void {
    const neededBytes = this.#keptBytes + part.length;
    if (neededBytes > this.#kept.length) {
      const roomBytes = Math.min(wantedBytes, Math.max(firstRoomBytes, 2 * neededBytes));
      const grown = Buffer.allocUnsafeSlow(roomBytes);
      this.#kept.copy(grown, 0, 0, this.#keptBytes);
      this.#kept = grown;
    }
    part.copy(this.#kept, this.#keptBytes);
    this.#keptBytes = neededBytes;
    this.#chunk = nothing;
  }
}
