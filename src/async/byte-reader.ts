/** Cuts bytes that arrive in chunks of any size into the pieces a parser asks for. */

const nothing: Buffer = Buffer.alloc(0);
const firstRoomBytes = 64;

/**
 * A piece inside one chunk is not copied. A piece spread over many chunks is collected in one doubling
 * buffer: each byte is copied a few times at most and no chunk is retained, so a peer that sends byte by byte
 * costs neither quadratic time nor an object per byte.
 */
export class ByteReader {
  #chunk: Buffer = nothing;
  /** The beginning of a piece whose rest has not arrived. */
  #kept: Buffer = nothing;
  #keptBytes = 0;

  /** Bytes received and not yet taken. */
  get length(): number {
    return this.#keptBytes + this.#chunk.length;
  }

  /** Take everything available from one chunk before pushing the next. */
  push(chunk: Buffer): void {
    // A peer may send empty chunks forever.
    if (chunk.length === 0) return;
    if (this.#chunk.length > 0) this.#keep(this.#chunk, Number.POSITIVE_INFINITY);
    this.#chunk = chunk;
  }

  /** The next `sizeBytes` bytes, or undefined until all have arrived. The next call must ask for at least as many. */
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

  /** The bytes available now, at most `mostBytes`. */
  takeSome(mostBytes: number): Buffer {
    return (
      this.take(Math.min(mostBytes, this.#keptBytes > 0 ? this.#keptBytes : this.#chunk.length)) ?? nothing
    );
  }

  /** All bytes not yet taken, as one buffer valid until the next push. Does not take them. */
  peekAll(): Buffer {
    if (this.#keptBytes === 0) return this.#chunk;
    if (this.#chunk.length > 0) this.#keep(this.#chunk, Number.POSITIVE_INFINITY);
    return this.#kept.subarray(0, this.#keptBytes);
  }

  /** Takes all remaining bytes as one buffer. */
  takeAll(): Buffer {
    return this.take(this.length) ?? nothing;
  }

  /** The buffer grows with the bytes received, so a piece that is only announced takes no memory. */
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
