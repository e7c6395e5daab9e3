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
  microTime: WireType.BYTES,
  port: WireType.BYTES,
  json: WireType.BYTES,
  bytes: WireType.BYTES,
  texts: WireType.BYTES,
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

/** What JSON shows for an entry of a map whose value is not in the message. */
export function absentEntry(kind: KubeScalar): unknown {
  if (kind === 'texts') return [];
  return kind === 'quantity' ? '0' : '';
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
    case 'time':
    case 'microTime': {
      const ms = Date.parse(asText(value));
      if (Number.isNaN(ms)) throw new TypeError(`expected a time, got ${JSON.stringify(value)}`);
      writer.block(() => {
        writer.tag(1, WireType.VARINT);
        writer.int64(Math.floor(ms / 1000));
        // Most times of objects are whole seconds, as in JSON.
        writer.tag(2, WireType.VARINT);
        writer.uint32(kind === 'time' ? 0 : microsecondsOf(asText(value)) * 1000);
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
    case 'bytes':
      writer.bytes(Buffer.from(asText(value), 'base64'));
      break;
    case 'texts':
      if (!Array.isArray(value)) throw new TypeError(`expected a list, got ${typeof value}`);
      writer.block(() => {
        for (const text of value) {
          writer.tag(1, WireType.BYTES);
          writer.string(asText(text));
        }
      });
      break;
  }
}

function microsecondsOf(time: string): number {
  const [, digits = ''] = /\.(\d+)/.exec(time) ?? [];
  return Number(digits.slice(0, 6).padEnd(6, '0'));
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
    case 'time':
    case 'microTime':
      return readTime(readParts(reader, end).numbers, kind);
    case 'port': {
      const { texts, numbers } = readParts(reader, end);
      return (numbers.get(1) ?? 0) === 1 ? (texts.get(3) ?? '') : (numbers.get(2) ?? 0);
    }
    case 'json': {
      const text = readParts(reader, end).texts.get(1);
      return text === undefined || text === '' ? undefined : (JSON.parse(text) ?? undefined);
    }
    case 'bytes':
      return Buffer.from(reader.bytes(end)).toString('base64');
    case 'texts':
      return readTexts(reader, reader.blockEnd(end));
  }
}

function readTime(numbers: ReadonlyMap<number, number>, kind: 'time' | 'microTime'): string | undefined {
  const seconds = numbers.get(1) ?? 0;
  if (seconds < earliestSeconds || seconds > latestSeconds) throw new WireError(`no time: ${seconds} s`);
  if (seconds === 0) return undefined;
  const whole = new Date(seconds * 1000).toISOString();
  if (kind === 'time') return whole.replace('.000Z', 'Z');
  const nanoseconds = numbers.get(2) ?? 0;
  if (nanoseconds < 0 || nanoseconds >= 1e9) throw new WireError(`no time: ${nanoseconds} ns`);
  const microseconds = String(Math.floor(nanoseconds / 1000)).padStart(6, '0');
  return whole.replace('.000Z', `.${microseconds}Z`);
}

function readTexts(reader: WireReader, end: number): readonly string[] {
  const texts: string[] = [];
  while (reader.position < end) {
    const tag = reader.uint32(end);
    if (tag === ((1 << 3) | WireType.BYTES)) texts.push(reader.string(end));
    else reader.skip(tag, end);
  }
  return texts;
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
