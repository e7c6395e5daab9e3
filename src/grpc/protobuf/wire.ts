/**
 * Reads and writes the protobuf wire format: varints, lengths and bytes. Every read is checked against the end of its
 * input.
 * Sections are those of the encoding guide (protobuf.dev/programming-guides/encoding).
 */

const TWO_32 = 2 ** 32;
const TWO_63 = 2 ** 63;
const TWO_64 = 2 ** 64;

/** The wire types (Message Structure). BYTES is LEN in the guide. */
export const WireType = {
  VARINT: 0,
  FIXED64: 1,
  BYTES: 2,
  START_GROUP: 3,
  END_GROUP: 4,
  FIXED32: 5,
} as const;

/** The bytes are not a protobuf message: truncated or malformed. */
export class WireError extends Error {
  override readonly name = 'WireError';
}

/** Appends wire values to a buffer that grows as needed. */
export class WireWriter {
  #bytes: Buffer;
  #length = 0;

  constructor(initialBytes = 256) {
    this.#bytes = Buffer.allocUnsafe(initialBytes);
  }

  finish(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  tag(fieldNumber: number, wireType: number): void {
    this.uint32(((fieldNumber << 3) | wireType) >>> 0);
  }

  uint32(value: number): void {
    this.#reserve(5);
    let rest = value >>> 0;
    while (rest > 0x7f) {
      this.#bytes[this.#length++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.#bytes[this.#length++] = rest;
  }

  /** A negative value takes ten bytes, as its sign is extended to 64 bits (Signed Integers). */
  int32(value: number): void {
    if (value < 0) this.#varint64(value >>> 0, 0xffffffff);
    else this.uint32(value);
  }

  /** Clamps to the int64 range. A `number` above 2^53 is already an approximation. */
  int64(value: number): void {
    const magnitude = Math.trunc(Math.abs(value));
    const low = magnitude >>> 0;
    const high = Math.floor(magnitude / TWO_32) >>> 0;
    if (value >= TWO_63) this.#varint64(0xffffffff, 0x7fffffff);
    else if (value <= -TWO_63) this.#varint64(0, 0x80000000);
    else if (value >= 0) this.#varint64(low, high);
    else this.#varint64(-low >>> 0, (~high + (low === 0 ? 1 : 0)) >>> 0);
  }

  /** Clamps to the uint64 range. */
  uint64(value: number): void {
    const whole = Math.max(0, Math.trunc(value));
    if (whole >= TWO_64) this.#varint64(0xffffffff, 0xffffffff);
    else this.#varint64(whole >>> 0, Math.floor(whole / TWO_32) >>> 0);
  }

  /** Writes the two's complement of the low 64 bits, for signed and unsigned fields. */
  bigint64(value: bigint): void {
    const bits = BigInt.asUintN(64, value);
    this.#varint64(Number(bits & 0xffffffffn), Number(bits >> 32n));
  }

  /** Writes the low 64 bits. */
  fixed64(value: bigint): void {
    this.#reserve(8);
    this.#length = this.#bytes.writeBigUInt64LE(BigInt.asUintN(64, value), this.#length);
  }

  double(value: number): void {
    this.#reserve(8);
    this.#length = this.#bytes.writeDoubleLE(value, this.#length);
  }

  bytes(value: Uint8Array): void {
    this.uint32(value.length);
    this.#reserve(value.length);
    this.#bytes.set(value, this.#length);
    this.#length += value.length;
  }

  /** Writes the bytes in place if each character takes one byte, as in nearly all strings; else moves them for a longer length. */
  string(value: string): void {
    const { length } = value;
    this.#reserve(5 + 3 * length);
    const start = this.#length;
    const at = start + varintBytes(length);
    const bytes = length === 0 ? 0 : this.#bytes.write(value, at);
    const moved = start + varintBytes(bytes);
    if (moved !== at) this.#bytes.copyWithin(moved, at, at + bytes);
    this.uint32(bytes);
    this.#length = moved + bytes;
  }

  /**
   * Writes a length-delimited block whose length is not known before. It reserves one byte for the length and moves
   * the block when the length needs more, which is rare.
   */
  block(write: () => void): void {
    const start = this.#length;
    this.#reserve(1);
    this.#length++;
    write();
    const end = this.#length;
    const blockBytes = end - start - 1;
    const extra = varintBytes(blockBytes) - 1;
    if (extra > 0) {
      this.#reserve(extra);
      this.#bytes.copyWithin(start + 1 + extra, start + 1, end);
    }
    this.#length = start;
    this.uint32(blockBytes);
    this.#length = end + extra;
  }

  #varint64(lowBits: number, highBits: number): void {
    this.#reserve(10);
    let low = lowBits;
    let high = highBits;
    while (high > 0 || low > 0x7f) {
      this.#bytes[this.#length++] = (low & 0x7f) | 0x80;
      low = ((low >>> 7) | (high << 25)) >>> 0;
      high >>>= 7;
    }
    this.#bytes[this.#length++] = low;
  }

  #reserve(extraBytes: number): void {
    const needed = this.#length + extraBytes;
    if (needed <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(needed, this.#bytes.length * 2));
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#bytes = grown;
  }
}

function varintBytes(value: number): number {
  let count = 1;
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) count++;
  return count;
}

/** Reads wire values from a buffer; `end` is the end of the message being read. */
export class WireReader {
  position = 0;
  readonly #bytes: Buffer;
  #low = 0;
  #high = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.isBuffer(bytes)
      ? bytes
      : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get length(): number {
    return this.#bytes.length;
  }

  /** Most tags and string lengths take one byte, so that case comes first. */
  uint32(end: number): number {
    const byte = this.#bytes[this.position] ?? 0x80;
    if (byte < 0x80 && this.position < end) {
      this.position++;
      return byte;
    }
    this.#varint(end);
    return this.#low;
  }

  int32(end: number): number {
    this.#varint(end);
    return this.#low | 0;
  }

  bool(end: number): boolean {
    this.#varint(end);
    return this.#low !== 0 || this.#high !== 0;
  }

  /** Exact up to 2^53; above, the nearest `number`. */
  int64(end: number): number {
    this.#varint(end);
    return (this.#high | 0) * TWO_32 + this.#low;
  }

  uint64(end: number): number {
    this.#varint(end);
    return this.#high * TWO_32 + this.#low;
  }

  bigInt64(end: number): bigint {
    return BigInt.asIntN(64, this.bigUint64(end));
  }

  bigUint64(end: number): bigint {
    this.#varint(end);
    return (BigInt(this.#high) << 32n) | BigInt(this.#low);
  }

  fixed64(end: number): bigint {
    return this.#bytes.readBigUInt64LE(this.#take(8, end));
  }

  double(end: number): number {
    const value = this.#take(8, end);
    return this.#bytes.readDoubleLE(value);
  }

  /** Returns a copy, so that one field does not keep a large network buffer alive. */
  bytes(end: number): Uint8Array {
    const length = this.uint32(end);
    const start = this.#take(length, end);
    return new Uint8Array(this.#bytes.subarray(start, start + length));
  }

  string(end: number): string {
    const length = this.uint32(end);
    const start = this.#take(length, end);
    return this.#bytes.toString('utf8', start, start + length);
  }

  /** Reads a length and returns the end of the block that follows. */
  blockEnd(end: number): number {
    const length = this.uint32(end);
    if (length > end - this.position) throw truncated(this.position, length, end);
    return this.position + length;
  }

  /** Skips an unknown field by its wire type (Message Structure). */
  skip(tag: number, end: number): void {
    switch (tag & 7) {
      case WireType.VARINT:
        this.#varint(end);
        return;
      case WireType.FIXED64:
        this.#take(8, end);
        return;
      case WireType.BYTES:
        this.position = this.blockEnd(end);
        return;
      case WireType.START_GROUP:
        this.#skipGroup(tag >>> 3, end);
        return;
      case WireType.FIXED32:
        this.#take(4, end);
        return;
      default:
        throw new WireError(
          `unexpected wire type ${tag & 7} of field ${tag >>> 3} before offset ${this.position}`,
        );
    }
  }

  /** Groups may be nested (Groups). A list instead of recursion keeps hostile nesting off the stack. */
  #skipGroup(fieldNumber: number, end: number): void {
    const open = [fieldNumber];
    while (open.length > 0) {
      const tag = this.uint32(end);
      if ((tag & 7) === WireType.START_GROUP) open.push(tag >>> 3);
      else if ((tag & 7) !== WireType.END_GROUP) this.skip(tag, end);
      else if (open.pop() !== tag >>> 3) throw new WireError(`mismatched end of group ${tag >>> 3}`);
    }
  }

  #take(count: number, end: number): number {
    const start = this.position;
    if (count > end - start) throw truncated(start, count, end);
    this.position = start + count;
    return start;
  }

  /** A varint has seven bits in each byte, least significant first, and at most ten bytes (Base 128 Varints). */
  #varint(end: number): void {
    const bytes = this.#bytes;
    const start = this.position;
    let low = 0;
    let high = 0;
    for (let index = 0; index < 10; index++) {
      if (start + index >= end) throw truncated(start, index + 1, end);
      const byte = bytes[start + index] ?? 0;
      const payload = byte & 0x7f;
      if (index < 4) low |= payload << (7 * index);
      else if (index === 4) {
        low |= payload << 28;
        high = payload >>> 4;
      } else high |= payload << (7 * index - 32);
      if (byte < 0x80) {
        this.#low = low >>> 0;
        this.#high = high >>> 0;
        this.position = start + index + 1;
        return;
      }
    }
    throw new WireError(`varint longer than 10 bytes at offset ${start}`);
  }
}

function truncated(position: number, wanted: number, end: number): WireError {
  return new WireError(`truncated: expected ${wanted} bytes at offset ${position}, ${end - position} left`);
}
