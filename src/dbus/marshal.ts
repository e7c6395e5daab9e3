/** Writes values as bytes (D-Bus Specification, "Marshaling"), always with the least significant byte first. */
import { DbusFormatError } from './errors.js';
import { dbusLimits } from './limits.js';
import { alignmentOf, type BasicCode, type DbusType, parseSignature, parseSingleType } from './signature.js';
import { type DbusValue, isObjectPath, isVariant } from './values.js';

/** The bytes of a body, whose first byte is on a multiple of eight in its message. */
export function marshal(signature: string, values: readonly DbusValue[]): Buffer {
  const types = parseSignature(signature);
  if (types.length !== values.length)
    throw new DbusFormatError(
      `the signature ${signature} has ${types.length} types for ${values.length} values`,
    );
  const writer = new ValueWriter();
  types.forEach((type, index) => {
    writer.value(type, values[index], 0);
  });
  return writer.bytes();
}

type IntegerCode = 'y' | 'n' | 'q' | 'i' | 'u' | 'h';

const integerRanges: Readonly<Record<IntegerCode, readonly [min: number, max: number]>> = {
  y: [0, 0xff],
  n: [-0x8000, 0x7fff],
  q: [0, 0xffff],
  i: [-0x8000_0000, 0x7fff_ffff],
  u: [0, 0xffff_ffff],
  h: [0, 0xffff_ffff],
};

const firstRoomBytes = 256;

class ValueWriter {
  #buffer = Buffer.alloc(firstRoomBytes);
  #length = 0;

  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  value(type: DbusType, value: DbusValue | undefined, depth: number): void {
    if (depth > dbusLimits.depth) throw new DbusFormatError(`a value nests deeper than ${dbusLimits.depth}`);
    switch (type.kind) {
      case 'basic':
        this.#basic(type.code, value);
        break;
      case 'variant':
        if (!isVariant(value)) throw mismatch('v', value);
        this.#text('g', value.signature);
        this.value(parseSingleType(value.signature), value.value, depth + 1);
        break;
      case 'struct':
        if (!Array.isArray(value) || value.length !== type.fields.length) throw mismatch('a struct', value);
        this.#reserve(8, 0);
        for (const [index, field] of type.fields.entries()) this.value(field, value[index], depth + 1);
        break;
      case 'array':
        this.#array(type.element, value, depth);
        break;
    }
  }

  #array(element: DbusType, value: DbusValue | undefined, depth: number): void {
    const lengthAt = this.#reserve(4, 4);
    // The length counts from the first element, after the padding that brings it there.
    this.#reserve(alignmentOf(element), 0);
    const start = this.#length;
    if (value instanceof Uint8Array) {
      if (element.kind !== 'basic' || element.code !== 'y') throw mismatch('an array', value);
      this.#raw(value);
    } else {
      if (!Array.isArray(value)) throw mismatch('an array', value);
      for (const entry of value) this.value(element, entry, depth + 1);
    }
    this.#buffer.writeUInt32LE(this.#length - start, lengthAt);
  }

  #basic(code: BasicCode, value: DbusValue | undefined): void {
    switch (code) {
      case 's':
      case 'o':
      case 'g':
        if (typeof value !== 'string') throw mismatch(code, value);
        this.#text(code, value);
        break;
      case 'b':
        if (typeof value !== 'boolean') throw mismatch(code, value);
        this.#integer('u', value ? 1 : 0);
        break;
      case 'd': {
        if (typeof value !== 'number') throw mismatch(code, value);
        const at = this.#reserve(8, 8);
        this.#buffer.writeDoubleLE(value, at);
        break;
      }
      case 'x':
      case 't': {
        if (typeof value !== 'bigint') throw mismatch(code, value);
        const wrapped = BigInt.asUintN(64, value);
        if ((code === 't' ? wrapped : BigInt.asIntN(64, value)) !== value) throw mismatch(code, value);
        const at = this.#reserve(8, 8);
        this.#buffer.writeBigUInt64LE(wrapped, at);
        break;
      }
      default:
        this.#integer(code, value);
    }
  }

  #integer(code: IntegerCode, value: DbusValue | undefined): void {
    const [min, max] = integerRanges[code];
    if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max)
      throw mismatch(code, value);
    const sizeBytes = code === 'y' ? 1 : code === 'n' || code === 'q' ? 2 : 4;
    const at = this.#reserve(sizeBytes, sizeBytes);
    if (min < 0) this.#buffer.writeIntLE(value, at, sizeBytes);
    else this.#buffer.writeUIntLE(value, at, sizeBytes);
  }

  #text(code: 's' | 'o' | 'g', value: string): void {
    const bytes = Buffer.from(value, 'utf8');
    // Half of a surrogate pair has no UTF-8.
    if (bytes.includes(0) || bytes.toString('utf8') !== value) throw mismatch(code, value);
    if (code === 'o' && !isObjectPath(value)) throw mismatch(code, value);
    if (code === 'g') parseSignature(value);
    this.#integer(code === 'g' ? 'y' : 'u', bytes.length);
    this.#raw(bytes);
    this.#reserve(1, 1);
  }

  #raw(bytes: Uint8Array): void {
    const at = this.#reserve(1, bytes.length);
    this.#buffer.set(bytes, at);
  }

  /** Makes room on a multiple of `alignment`, all zero, and returns where; the buffer may be another one afterwards. */
  #reserve(alignment: number, sizeBytes: number): number {
    const at = Math.ceil(this.#length / alignment) * alignment;
    const end = at + sizeBytes;
    if (end > dbusLimits.bodyBytes)
      throw new DbusFormatError(`a body has more than ${dbusLimits.bodyBytes} bytes`);
    if (end > this.#buffer.length) {
      const grown = Buffer.alloc(Math.max(end, 2 * this.#buffer.length));
      this.#buffer.copy(grown, 0, 0, this.#length);
      this.#buffer = grown;
    }
    this.#length = end;
    return at;
  }
}

const shownChars = 100;

function mismatch(type: string, value: unknown): DbusFormatError {
  const shown = typeof value === 'string' ? JSON.stringify(value.slice(0, shownChars)) : typeof value;
  return new DbusFormatError(`a value for ${type} is ${typeof value === 'bigint' ? String(value) : shown}`);
}
