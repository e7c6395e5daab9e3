/** The compiled fields of a message and the checks of their values, for the encoder and the decoder. */
import type { MessageType } from './codec.js';
import { WireType } from './wire.js';

/** `bigint64` and `biguint64` are the 64-bit varints marked `@bigint`; others are numbers. `fixed64` is always a bigint. */
export type ProtobufScalarKind =
  | 'string'
  | 'bytes'
  | 'bool'
  | 'int32'
  | 'uint32'
  | 'int64'
  | 'uint64'
  | 'bigint64'
  | 'biguint64'
  | 'fixed64'
  | 'double'
  | 'enum';

export type MessageFields = Record<string, unknown>;

export interface CompiledField {
  readonly fieldNumber: number;
  readonly property: string;
  readonly kind: ProtobufScalarKind | MessageType<object>;
  readonly shape: 'single' | 'repeated' | 'map' | 'optional' | 'oneof';
  /** The property of the oneof that has this field as a case. */
  readonly oneof: string | undefined;
}

/** The codec refuses deeper nested messages in both directions. */
export const MAX_DEPTH = 100;

export function scalarDefault(kind: ProtobufScalarKind): unknown {
  switch (kind) {
    case 'string':
      return '';
    case 'bytes':
      return new Uint8Array(0);
    case 'bool':
      return false;
    case 'bigint64':
    case 'biguint64':
    case 'fixed64':
      return 0n;
    default:
      return 0;
  }
}

export function asArray(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new TypeError(`expected an array, got ${typeof value}`);
  return value;
}

export function asFields(value: unknown): MessageFields {
  if (typeof value !== 'object' || value === null)
    throw new TypeError(`expected an object, got ${typeof value}`);
  // Any object can be read as a record of unknown values.
  return value as MessageFields;
}

export function asBigint(value: unknown): bigint {
  if (typeof value === 'bigint') return value;
  return BigInt(Math.trunc(asNumber(value)));
}

export function asNumber(value: unknown): number {
  if (typeof value !== 'number' || Number.isNaN(value))
    throw new TypeError(`expected a number, got ${String(value)}`);
  return value;
}

export function asInteger32(value: unknown, low: number, high: number): number {
  const number = asNumber(value);
  if (!Number.isInteger(number) || number < low || number > high) {
    throw new TypeError(`expected a 32-bit integer, got ${number}`);
  }
  return number;
}

export function asString(value: unknown): string {
  if (typeof value !== 'string') throw new TypeError(`expected a string, got ${typeof value}`);
  return value;
}

/** The value of a field in a message; undefined for a case of a oneof that is not set. */
export function fieldValue(message: MessageFields, { property, oneof }: CompiledField): unknown {
  if (oneof === undefined) return message[property];
  const chosen = message[oneof];
  if (chosen === undefined || chosen === null) return undefined;
  const { case: name, value } = asFields(chosen);
  return name === property ? value : undefined;
}

export function definedEntries(value: unknown): [string, unknown][] {
  return Object.entries(asFields(value)).filter(([, entry]) => entry !== undefined && entry !== null);
}

/** A plain assignment would lose the key `__proto__`, which a label map of a peer may contain. */
export function setEntry(entries: MessageFields, key: string, value: unknown): void {
  if (key !== '__proto__') entries[key] = value;
  else Object.defineProperty(entries, key, { value, enumerable: true, configurable: true, writable: true });
}

export function wireTypeOf(kind: CompiledField['kind']): number {
  if (typeof kind !== 'string' || kind === 'string' || kind === 'bytes') return WireType.BYTES;
  return kind === 'double' || kind === 'fixed64' ? WireType.FIXED64 : WireType.VARINT;
}
