/**
 * Converts protobuf messages to plain objects and back by field tables. `npm run generate` writes the tables, so the
 * generated files hold data and no code.
 */
import { readField } from './decode.js';
import { FieldValueError, writeField } from './encode.js';
import {
  asArray,
  asBigint,
  asFields,
  type CompiledField,
  definedEntries,
  fieldValue,
  MAX_DEPTH,
  type MessageFields,
  type ProtobufScalarKind,
  scalarDefault,
  setEntry,
} from './fields.js';
import { WireError, WireReader, WireWriter } from './wire.js';

/**
 * One field: number, property name, kind, shape. A nested message is a function, as messages may be cyclic. An `optional`
 * field is undefined when absent, even if it is a scalar. The property of a oneof holds the case that is set.
 */
export type FieldRow = readonly [
  fieldNumber: number,
  property: string,
  kind: ProtobufScalarKind | (() => MessageType<object>),
  shape?: 'repeated' | 'map' | 'optional' | { readonly oneof: string },
];

/** The input for a message: every field is optional at every depth; an absent field has the proto3 default. */
export type Init<T> = T extends bigint
  ? bigint | number
  : T extends string | number | boolean | Uint8Array | undefined
    ? T
    : T extends readonly (infer Element)[]
      ? readonly Init<Element>[]
      : T extends { readonly case: infer Case extends string; readonly value: infer Value }
        ? { readonly case: Case; readonly value: Init<Value> }
        : { readonly [Key in keyof T]?: Init<T[Key]> };

/** A method of a gRPC service. */
export interface MethodInfo<Request extends object, Response extends object> {
  readonly path: string;
  readonly request: MessageType<Request>;
  readonly response: MessageType<Response>;
  readonly serverStreaming: boolean;
}

/**
 * A message type. Decoded objects have every scalar, repeated and map field, with the proto3 default for absent ones.
 * Message fields, `optional` fields and oneofs are `undefined` when absent. An unknown enum value is its number.
 */
export class MessageType<T extends object> {
  readonly name: string;
  /** The field table, as generated. */
  readonly rows: readonly FieldRow[];
  #fields: readonly CompiledField[] | undefined;
  #byNumber: readonly (CompiledField | undefined)[] = [];

  constructor(name: string, rows: readonly FieldRow[]) {
    this.name = name;
    this.rows = rows;
  }

  /** A complete message: `init` with defaults for all absent fields. */
  create(init?: Init<T>): T {
    // The table covers exactly the properties of T: both come from the same proto message.
    return this.fill((init ?? {}) as MessageFields) as T;
  }

  encode(init: Init<T>): Buffer {
    const writer = new WireWriter();
    this.write(writer, init as MessageFields, 0);
    return writer.finish();
  }

  decode(bytes: Uint8Array): T {
    const target = this.defaults();
    const reader = new WireReader(bytes);
    try {
      this.read(reader, reader.length, target, 0);
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      throw new WireError(`${this.name}: ${error.message}`, { cause: error });
    }
    // As in create(): defaults() and read() set the properties of T.
    return target as T;
  }

  /** @internal */
  defaults(): MessageFields {
    const target: MessageFields = {};
    for (const { property, kind, shape, oneof } of this.#compiled()) {
      if (shape === 'repeated') target[property] = [];
      else if (shape === 'map') target[property] = {};
      else if (shape === 'optional') target[property] = undefined;
      else if (oneof !== undefined) target[oneof] = undefined;
      else target[property] = typeof kind === 'string' ? scalarDefault(kind) : undefined;
    }
    return target;
  }

  /** @internal */
  fill(init: MessageFields): MessageFields {
    const target = this.defaults();
    for (const field of this.#compiled()) {
      const { property, kind, shape, oneof } = field;
      const value = fieldValue(init, field);
      if (value === undefined || value === null) continue;
      if (shape === 'repeated') target[property] = asArray(value).map((element) => fillValue(kind, element));
      else if (shape === 'map') {
        const entries: MessageFields = {};
        for (const [key, entry] of definedEntries(value)) setEntry(entries, key, fillValue(kind, entry));
        target[property] = entries;
      } else if (oneof !== undefined) target[oneof] = { case: property, value: fillValue(kind, value) };
      else target[property] = fillValue(kind, value);
    }
    return target;
  }

  /** @internal */
  write(writer: WireWriter, init: MessageFields, depth: number): void {
    if (depth > MAX_DEPTH) throw new RangeError(`${this.name}: nested deeper than ${MAX_DEPTH} messages`);
    for (const field of this.#compiled()) {
      const value = fieldValue(init, field);
      if (value === undefined || value === null) continue;
      try {
        writeField(writer, field, value, depth);
      } catch (error) {
        if (!(error instanceof TypeError) || error instanceof FieldValueError) throw error;
        throw new FieldValueError(`${this.name}.${field.property}: ${error.message}`, { cause: error });
      }
    }
  }

  /** @internal */
  read(reader: WireReader, end: number, target: MessageFields, depth: number): void {
    if (depth > MAX_DEPTH) throw new WireError(`nested deeper than ${MAX_DEPTH} messages`);
    this.#compiled();
    while (reader.position < end) {
      const tag = reader.uint32(end);
      const fieldNumber = tag >>> 3;
      if (fieldNumber === 0) throw new WireError(`field number 0 before offset ${reader.position}`);
      const field = this.#byNumber[fieldNumber];
      if (field === undefined || !readField(reader, end, field, tag & 7, target, depth))
        reader.skip(tag, end);
    }
  }

  #compiled(): readonly CompiledField[] {
    if (this.#fields !== undefined) return this.#fields;
    const fields = this.rows.map(
      ([fieldNumber, property, kind, shape]): CompiledField => ({
        fieldNumber,
        property,
        kind: typeof kind === 'string' ? kind : kind(),
        shape: typeof shape === 'object' ? 'oneof' : (shape ?? 'single'),
        oneof: typeof shape === 'object' ? shape.oneof : undefined,
      }),
    );
    const byNumber: (CompiledField | undefined)[] = [];
    for (const field of fields) byNumber[field.fieldNumber] = field;
    this.#byNumber = Array.from(byNumber);
    this.#fields = fields;
    return fields;
  }
}

function fillValue(kind: CompiledField['kind'], value: unknown): unknown {
  if (typeof kind !== 'string') return kind.fill(asFields(value));
  if (kind === 'bigint64' || kind === 'biguint64' || kind === 'fixed64') return asBigint(value);
  return value;
}
