/** The values of fields: scalars of protobuf, and the small messages that JSON shows as one value. */
import { WireError, type WireReader, WireType, type WireWriter } from '../grpc/index.js';
import type { KubeScalar } from './field-text.js';

const wireTypes: Readonly<Record<KubeScalar, number>> = {
  string: WireType.BYTES,
  int: WireType.VARINT,
  bool: WireType.VARINT,
  // Messages of one or a few fields.
  quantity: WireType.BYTES,
  time: WireType.BYTES,
  port: WireType.BYTES,
  json: WireType.BYTES,
};

/** The years 1 to 9999, which a time in JSON can have. */
const earliestSeconds = -62_135_596_800;
const latestSeconds = 253_402_300_799;

export function isScalarKind(kind: string): kind is KubeScalar {
  return Object.hasOwn(wireTypes, kind);
}

export function scalarWireType(kind: KubeScalar): number {
  return wireTypes[kind];
}

/** Whether JSON leaves the value out where a field does not keep it. */
export function isZero(value: unknown): boolean {
  return value === '' || value === 0 || value === false;
}

export function writeScalar(writer: WireWriter, kind: KubeScalar, value: unknown): void {
  switch (kind) {
    case 'string':
      writer.string(asText(value));
      break;
    case 'int':
      // A negative int32 has the same bytes as the int64 of that value.
      writer.int64(asWhole(value));
      break;
    case 'bool':
      if (typeof value !== 'boolean') throw new TypeError(`expected a boolean, got ${typeof value}`);
      writer.uint32(value ? 1 : 0);
      break;
    case 'quantity':
      writer.block(() => {
        writer.tag(1, WireType.BYTES);
        writer.string(typeof value === 'number' ? String(value) : asText(value));
      });
      break;
    case 'time': {
      const ms = Date.parse(asText(value));
      if (Number.isNaN(ms)) throw new TypeError(`expected a time, got ${JSON.stringify(value)}`);
      writer.block(() => {
        writer.tag(1, WireType.VARINT);
        writer.int64(Math.floor(ms / 1000));
        // Nanoseconds: times of objects are whole seconds, as in JSON.
        writer.tag(2, WireType.VARINT);
        writer.uint32(0);
      });
      break;
    }
    case 'port':
      writer.block(() => writePort(writer, value));
      break;
    case 'json':
      writer.block(() => {
        writer.tag(1, WireType.BYTES);
        writer.string(JSON.stringify(value));
      });
      break;
  }
}

/** Either a number or a name: its kind is field 1, the number field 2, the name field 3. */
function writePort(writer: WireWriter, value: unknown): void {
  const isName = typeof value === 'string';
  writer.tag(1, WireType.VARINT);
  writer.uint32(isName ? 1 : 0);
  writer.tag(2, WireType.VARINT);
  writer.int64(isName ? 0 : asWhole(value));
  writer.tag(3, WireType.BYTES);
  writer.string(isName ? value : '');
}

/** Undefined for a value that JSON shows as null. */
export function readScalar(reader: WireReader, end: number, kind: KubeScalar): unknown {
  switch (kind) {
    case 'string':
      return reader.string(end);
    case 'int':
      return reader.int64(end);
    case 'bool':
      return reader.bool(end);
    case 'quantity':
      return readParts(reader, end).texts.get(1) ?? '0';
    case 'time': {
      const seconds = readParts(reader, end).numbers.get(1) ?? 0;
      if (seconds < earliestSeconds || seconds > latestSeconds) throw new WireError(`no time: ${seconds} s`);
      return seconds === 0 ? undefined : new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');
    }
    case 'port': {
      const { texts, numbers } = readParts(reader, end);
      return (numbers.get(1) ?? 0) === 1 ? (texts.get(3) ?? '') : (numbers.get(2) ?? 0);
    }
    case 'json': {
      const text = readParts(reader, end).texts.get(1);
      return text === undefined || text === '' ? undefined : (JSON.parse(text) ?? undefined);
    }
  }
}

interface Parts {
  readonly texts: ReadonlyMap<number, string>;
  readonly numbers: ReadonlyMap<number, number>;
}

/** The fields of a small message by number; each occurs once in what is written, and else the last one counts. */
function readParts(reader: WireReader, end: number): Parts {
  const texts = new Map<number, string>();
  const numbers = new Map<number, number>();
  const blockEnd = reader.blockEnd(end);
  while (reader.position < blockEnd) {
    const tag = reader.uint32(blockEnd);
    if ((tag & 7) === WireType.BYTES) texts.set(tag >>> 3, reader.string(blockEnd));
    else if ((tag & 7) === WireType.VARINT) numbers.set(tag >>> 3, reader.int64(blockEnd));
    else reader.skip(tag, blockEnd);
  }
  return { texts, numbers };
}

function asText(value: unknown): string {
  if (typeof value !== 'string') throw new TypeError(`expected a string, got ${typeof value}`);
  return value;
}

function asWhole(value: unknown): number {
  if (typeof value !== 'number' || !Number.isInteger(value))
    throw new TypeError(`expected a whole number, got ${JSON.stringify(value)}`);
  return value;
}
