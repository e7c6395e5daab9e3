/** What a field of a message is, and what its values may be, for encoder and decoder alike. */
import type { MessageType } from './codec.js';
import { WireType } from './wire.js';

/** `bigint64` and `biguint64` are the 64-bit fields marked `@bigint`; the other 64-bit fields are numbers. */
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
  | 'double'
  | 'enum';

export type MessageFields = Record<string, unknown>;

export interface CompiledField {
  readonly fieldNumber: number;
  readonly property: string;
  readonly kind: ProtobufScalarKind | MessageType<object>;
  readonly shape: 'single' | 'repeated' | 'map' | 'optional' | 'oneof';
  /** The property of the oneof that the field is a case of. */
  readonly oneof: string | undefined;
}

/** Messages nested deeper are refused in both directions. */
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
      return 0n;
    default:
      return 0;
  }
}

export function asArray(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new TypeError(`an array is wanted, not ${typeof value}`);
  return value;
}

export function asFields(value: unknown): MessageFields {
  if (typeof value !== 'object' || value === null)
    throw new TypeError(`an object is wanted, not ${typeof value}`);
  // Any object can be read as a record of unknown values.
  return value as MessageFields;
}

export function asBigint(value: unknown): bigint {
  if (typeof value === 'bigint') return value;
  return BigInt(Math.trunc(asNumber(value)));
}

export function asNumber(value: unknown): number {
  if (typeof value !== 'number' || Number.isNaN(value))
    throw new TypeError(`a number is wanted, not ${String(value)}`);
  return value;
}

export function asInteger32(value: unknown, low: number, high: number): number {
  const number = asNumber(value);
  if (!Number.isInteger(number) || number < low || number > high) {
    throw new TypeError(`a 32-bit integer is wanted, not ${number}`);
  }
  return number;
}

export function asString(value: unknown): string {
  if (typeof value !== 'string') throw new TypeError(`a string is wanted, not ${typeof value}`);
  return value;
}

/** The value of a field in a message; of a case of a oneof, undefined unless it is the one that is set. */
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

/** A plain assignment would lose the key `__proto__`, which a label map from outside may carry. */
export function setEntry(entries: MessageFields, key: string, value: unknown): void {
  if (key !== '__proto__') entries[key] = value;
  else Object.defineProperty(entries, key, { value, enumerable: true, configurable: true, writable: true });
}

export function wireTypeOf(kind: CompiledField['kind']): number {
  if (typeof kind !== 'string' || kind === 'string' || kind === 'bytes') return WireType.BYTES;
  return kind === 'double' ? WireType.FIXED64 : WireType.VARINT;
}
