/** Reads values from bytes that a peer sent; refuses whatever the specification does not allow. */
import { DbusFormatError } from './errors.js';
import { dbusLimits } from './limits.js';
import { alignmentOf, type BasicCode, type DbusType, parseSignature, parseSingleType } from './signature.js';
import { type DbusValue, isObjectPath } from './values.js';

/** Reads a whole body: the bytes must end with the last value. */
export function unmarshal(signature: string, bytes: Buffer, isLittleEndian: boolean): readonly DbusValue[] {
  const reader = new ValueReader(bytes, isLittleEndian);
  const values = parseSignature(signature).map((type) => reader.value(type, 0));
  if (!reader.atEnd) throw new DbusFormatError(`the body is longer than its signature ${signature}`);
  return values;
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Takes values one after another from bytes whose first is on a multiple of eight in the message. */
export class ValueReader {
  readonly #bytes: Buffer;
  readonly #isLittleEndian: boolean;
  #at = 0;

  constructor(bytes: Buffer, isLittleEndian: boolean) {
    this.#bytes = bytes;
    this.#isLittleEndian = isLittleEndian;
  }

  get atEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  value(type: DbusType, depth: number): DbusValue {
    if (depth > dbusLimits.depth) throw new DbusFormatError(`a value nests deeper than ${dbusLimits.depth}`);
    switch (type.kind) {
      case 'basic':
        return this.#basic(type.code);
      case 'variant': {
        const signature = this.#signature();
        return { signature, value: this.value(parseSingleType(signature), depth + 1) };
      }
      case 'struct':
        this.align(8);
        return type.fields.map((field) => this.value(field, depth + 1));
      case 'array':
        return this.#array(type.element, depth);
    }
  }

  /** Skips padding, which must be zero. */
  align(alignment: number): void {
    const next = Math.ceil(this.#at / alignment) * alignment;
    while (this.#at < next) {
      if (this.#bytes[this.#at] !== 0) throw new DbusFormatError('padding is missing or not zero');
      this.#at += 1;
    }
  }

  #array(element: DbusType, depth: number): DbusValue {
    const lengthBytes = this.#number('u');
    this.align(alignmentOf(element));
    const end = this.#at + lengthBytes;
    if (end > this.#bytes.length) throw new DbusFormatError('an array is longer than its message');
    // A copy: a part would keep the whole message in memory.
    if (element.kind === 'basic' && element.code === 'y') return Buffer.from(this.#take(1, lengthBytes));
    const entries: DbusValue[] = [];
    while (this.#at < end) entries.push(this.value(element, depth + 1));
    if (this.#at !== end) throw new DbusFormatError('the last element of an array reaches beyond its end');
    return entries;
  }

  #basic(code: BasicCode): DbusValue {
    switch (code) {
      case 's':
        return this.#text(this.#number('u'));
      case 'o': {
        const path = this.#text(this.#number('u'));
        if (!isObjectPath(path)) throw new DbusFormatError('an object path is malformed');
        return path;
      }
      case 'g':
        return this.#signature();
      case 'b': {
        const value = this.#number('u');
        if (value > 1) throw new DbusFormatError(`a boolean is ${value}`);
        return value === 1;
      }
      case 'x': {
        const at = this.#take(8, 8);
        return this.#isLittleEndian ? at.readBigInt64LE() : at.readBigInt64BE();
      }
      case 't': {
        const at = this.#take(8, 8);
        return this.#isLittleEndian ? at.readBigUInt64LE() : at.readBigUInt64BE();
      }
      case 'd': {
        const at = this.#take(8, 8);
        return this.#isLittleEndian ? at.readDoubleLE() : at.readDoubleBE();
      }
      default:
        return this.#number(code);
    }
  }

  #number(code: 'y' | 'n' | 'q' | 'i' | 'u' | 'h'): number {
    switch (code) {
      case 'y':
        return this.#take(1, 1).readUInt8();
      case 'n': {
        const at = this.#take(2, 2);
        return this.#isLittleEndian ? at.readInt16LE() : at.readInt16BE();
      }
      case 'q': {
        const at = this.#take(2, 2);
        return this.#isLittleEndian ? at.readUInt16LE() : at.readUInt16BE();
      }
      case 'i': {
        const at = this.#take(4, 4);
        return this.#isLittleEndian ? at.readInt32LE() : at.readInt32BE();
      }
      case 'u':
      case 'h': {
        const at = this.#take(4, 4);
        return this.#isLittleEndian ? at.readUInt32LE() : at.readUInt32BE();
      }
    }
  }

  #signature(): string {
    const signature = this.#text(this.#number('y'));
    parseSignature(signature);
    return signature;
  }

  #text(lengthBytes: number): string {
    const bytes = this.#take(1, lengthBytes);
    if (this.#number('y') !== 0 || bytes.includes(0))
      throw new DbusFormatError('a text has a zero byte inside, or none at its end');
    try {
      return utf8.decode(bytes);
    } catch (error) {
      throw new DbusFormatError('a text is not UTF-8', { cause: error });
    }
  }

  #take(alignment: number, sizeBytes: number): Buffer {
    this.align(alignment);
    const end = this.#at + sizeBytes;
    if (end > this.#bytes.length) throw new DbusFormatError('the message ends inside a value');
    const part = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return part;
  }
}
