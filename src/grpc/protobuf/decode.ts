/** Reads the fields of a message from the wire. Sections are those of the protobuf encoding guide. */
import {
  asFields,
  type CompiledField,
  fieldValue,
  type MessageFields,
  scalarDefault,
  setEntry,
  wireTypeOf,
} from './fields.js';
import { type WireReader, WireType } from './wire.js';

/** False when the wire type does not fit the field; the caller then skips it as an unknown field. */
export function readField(
  reader: WireReader,
  end: number,
  field: CompiledField,
  wireType: number,
  target: MessageFields,
  depth: number,
): boolean {
  const { property, kind, shape, oneof } = field;
  const expected = wireTypeOf(kind);
  if (shape === 'map') {
    if (wireType !== WireType.BYTES) return false;
    readMapEntry(reader, reader.blockEnd(end), kind, asFields(target[property]), depth);
    return true;
  }
  if (shape === 'repeated') {
    // Both packed and unpacked elements are valid (Packed Repeated Fields). defaults() made this an array.
    const elements = target[property] as unknown[];
    if (wireType === expected) {
      elements.push(readValue(reader, end, kind, undefined, depth));
    } else if (wireType === WireType.BYTES) {
      const blockEnd = reader.blockEnd(end);
      while (reader.position < blockEnd) elements.push(readValue(reader, blockEnd, kind, undefined, depth));
    } else return false;
    return true;
  }
  if (wireType !== expected) return false;
  if (oneof !== undefined) {
    // The last case on the wire is set (Oneofs). A message is merged into an earlier one of the same case.
    const value = readValue(reader, end, kind, fieldValue(target, field), depth);
    target[oneof] = { case: property, value };
    return true;
  }
  target[property] = readValue(reader, end, kind, target[property], depth);
  return true;
}

/** Key and value may be absent and in any order (Maps). */
function readMapEntry(
  reader: WireReader,
  end: number,
  kind: CompiledField['kind'],
  entries: MessageFields,
  depth: number,
): void {
  let key = '';
  let value: unknown = typeof kind === 'string' ? scalarDefault(kind) : kind.defaults();
  while (reader.position < end) {
    const tag = reader.uint32(end);
    if (tag === ((1 << 3) | WireType.BYTES)) key = reader.string(end);
    else if (tag === ((2 << 3) | wireTypeOf(kind))) value = readValue(reader, end, kind, value, depth);
    else reader.skip(tag, end);
  }
  setEntry(entries, key, value);
}

/** A repeated occurrence of a message is merged into the first one; of other values the last one wins (Last One Wins). */
function readValue(
  reader: WireReader,
  end: number,
  kind: CompiledField['kind'],
  present: unknown,
  depth: number,
): unknown {
  if (typeof kind !== 'string') {
    const nested = present === undefined ? kind.defaults() : asFields(present);
    kind.read(reader, reader.blockEnd(end), nested, depth + 1);
    return nested;
  }
  switch (kind) {
    case 'string':
      return reader.string(end);
    case 'bytes':
      return reader.bytes(end);
    case 'bool':
      return reader.bool(end);
    case 'int32':
    case 'enum':
      return reader.int32(end);
    case 'uint32':
      return reader.uint32(end);
    case 'int64':
      return reader.int64(end);
    case 'uint64':
      return reader.uint64(end);
    case 'bigint64':
      return reader.bigInt64(end);
    case 'biguint64':
      return reader.bigUint64(end);
    case 'fixed64':
      return reader.fixed64(end);
    case 'double':
      return reader.double(end);
  }
}
