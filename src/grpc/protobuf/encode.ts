/** Writes the fields of a message to the wire. Sections are those of the protobuf encoding guide. */
import {
  asArray,
  asBigint,
  asFields,
  asInteger32,
  asNumber,
  asString,
  type CompiledField,
  definedEntries,
  wireTypeOf,
} from './fields.js';
import { WireType, type WireWriter } from './wire.js';

/** A value does not fit its field. The message names the innermost field. */
export class FieldValueError extends TypeError {}

export function writeField(writer: WireWriter, field: CompiledField, value: unknown, depth: number): void {
  const { fieldNumber, kind, shape } = field;
  const wireType = wireTypeOf(kind);
  if (shape === 'map') {
    // An entry is a message with key (1) and value (2) (Maps).
    for (const [key, entry] of definedEntries(value)) {
      writer.tag(fieldNumber, WireType.BYTES);
      writer.block(() => {
        writer.tag(1, WireType.BYTES);
        writer.string(key);
        writer.tag(2, wireType);
        writeValue(writer, kind, entry, depth);
      });
    }
  } else if (shape === 'repeated') {
    const elements = asArray(value);
    if (elements.length === 0) return;
    if (wireType === WireType.BYTES) {
      for (const element of elements) {
        writer.tag(fieldNumber, wireType);
        writeValue(writer, kind, element, depth);
      }
    } else {
      // proto3 packs repeated numbers by default (Packed Repeated Fields).
      writer.tag(fieldNumber, WireType.BYTES);
      writer.block(() => {
        for (const element of elements) writeValue(writer, kind, element, depth);
      });
    }
  } else if (typeof kind !== 'string' || shape !== 'single' || !isDefault(value)) {
    writer.tag(fieldNumber, wireType);
    writeValue(writer, kind, value, depth);
  }
}

/** proto3 omits a field with the default value, unless the field tracks presence. -0 is not the default of a double. */
function isDefault(value: unknown): boolean {
  if (value instanceof Uint8Array) return value.length === 0;
  return value === '' || value === false || value === 0n || (value === 0 && !Object.is(value, -0));
}

function writeValue(writer: WireWriter, kind: CompiledField['kind'], value: unknown, depth: number): void {
  if (typeof kind !== 'string') {
    const fields = asFields(value);
    writer.block(() => kind.write(writer, fields, depth + 1));
    return;
  }
  switch (kind) {
    case 'string':
      writer.string(asString(value));
      break;
    case 'bytes':
      if (!(value instanceof Uint8Array)) throw new TypeError(`expected bytes, got ${typeof value}`);
      writer.bytes(value);
      break;
    case 'bool':
      if (typeof value !== 'boolean') throw new TypeError(`expected a boolean, got ${typeof value}`);
      writer.uint32(value ? 1 : 0);
      break;
    case 'int32':
    case 'enum':
      writer.int32(asInteger32(value, -0x80000000, 0x7fffffff));
      break;
    case 'uint32':
      writer.uint32(asInteger32(value, 0, 0xffffffff));
      break;
    case 'int64':
      writer.int64(asNumber(value));
      break;
    case 'uint64':
      writer.uint64(asNumber(value));
      break;
    case 'bigint64':
    case 'biguint64':
      writer.bigint64(asBigint(value));
      break;
    case 'fixed64':
      writer.fixed64(asBigint(value));
      break;
    case 'double':
      if (typeof value !== 'number') throw new TypeError(`expected a number, got ${typeof value}`);
      writer.double(value);
      break;
  }
}
