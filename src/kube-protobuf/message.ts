/** Converts Kubernetes objects between the form that they have in JSON and protobuf, by the tables of their fields. */
import { errorText } from '../async/index.js';
import { WireError, WireReader, WireType, WireWriter } from '../grpc/index.js';
import { type FieldShape, type KubeScalar, readFields } from './field-text.js';
import { containerFields } from './tables/container.js';
import { metaFields } from './tables/meta.js';
import { podFields } from './tables/pod.js';
import { statusFields } from './tables/status.js';
import { volumeFields } from './tables/volume.js';
import { absentEntry, isScalarKind, isZero, readScalar, scalarWireType, writeScalar } from './values.js';

type JsonObject = Record<string, unknown>;

interface KubeField {
  readonly property: string;
  readonly fieldNumber: number;
  readonly shape: FieldShape;
  readonly kind: KubeScalar | KubeMessage<object>;
  readonly keepsZero: boolean;
}

/** The tables of pods and all that they hold. */
export const podTables = {
  ...metaFields,
  ...containerFields,
  ...volumeFields,
  ...statusFields,
  ...podFields,
};
export type KubeMessageName = keyof typeof podTables;
// The keys of the table are the names of its type.
export const kubeMessageNames = Object.keys(podTables) as readonly KubeMessageName[];

type FindMessage = (name: string) => KubeMessage<object>;
const podMessages = messagesOf(podTables);

/** The message of that name; T must be the type that the object has in JSON. */
export function kubeMessage<T extends object>(name: KubeMessageName): KubeMessage<T> {
  // Every message converts any object; its fields are those of the table, which the caller names by T.
  return podMessages(name) as KubeMessage<T>;
}

/** Finds a message of these tables by its name, and throws a TypeError where they have none. */
export function messagesOf(tables: Readonly<Record<string, string>>): FindMessage {
  const messages = new Map<string, KubeMessage<object>>();
  const find: FindMessage = (name) => {
    const text = Object.hasOwn(tables, name) ? tables[name] : undefined;
    if (text === undefined) throw new TypeError(`there is no message ${name}`);
    const known = messages.get(name) ?? new KubeMessage<object>(name, text, find);
    messages.set(name, known);
    return known;
  };
  return find;
}

/**
 * A message of the Kubernetes API. Reading gives what JSON of the API would: fields that are unset or, where the API
 * leaves them out, zero are absent. Messages of the tables contain no message of their own kind, so depth is bounded.
 */
export class KubeMessage<T extends object> {
  readonly name: string;
  readonly #text: string;
  readonly #find: FindMessage;
  #fields: readonly KubeField[] | undefined;
  #byNumber: readonly (KubeField | undefined)[] = [];

  constructor(name: string, text: string, find: FindMessage) {
    this.name = name;
    this.#text = text;
    this.#find = find;
  }

  /** Fields that the table does not have are left out. Throws a TypeError that names the field whose value does not fit. */
  encode(object: T): Buffer {
    const writer = new WireWriter();
    // The table reads the object by names of properties.
    this.write(writer, object as JsonObject);
    return writer.finish();
  }

  /** Throws a WireError if the bytes are no message; fields that the table does not have are left out. */
  decode(bytes: Uint8Array): T {
    const reader = new WireReader(bytes);
    const target: JsonObject = {};
    try {
      this.read(reader, reader.length, target);
    } catch (error) {
      throw new WireError(`${this.name}: ${errorText(error)}`, { cause: error });
    }
    // The caller of kubeMessage names the type of the table.
    return target as T;
  }

  /** The table, for tests that go through all of it. */
  get fields(): readonly KubeField[] {
    return this.#compiled();
  }

  /** @internal */
  write(writer: WireWriter, object: JsonObject): void {
    for (const field of this.#compiled()) {
      const value = field.shape === 'inline' ? object : object[field.property];
      if (value === undefined || value === null) continue;
      try {
        writeField(writer, field, value);
      } catch (error) {
        if (!(error instanceof TypeError) || error instanceof MisfitError) throw error;
        throw new MisfitError(`${this.name}.${field.property}: ${error.message}`, { cause: error });
      }
    }
  }

  /** @internal */
  read(reader: WireReader, end: number, target: JsonObject): void {
    this.#compiled();
    while (reader.position < end) {
      const tag = reader.uint32(end);
      const field = this.#byNumber[tag >>> 3];
      if (field === undefined || !readField(reader, end, field, tag & 7, target)) reader.skip(tag, end);
    }
  }

  #compiled(): readonly KubeField[] {
    if (this.#fields !== undefined) return this.#fields;
    const fields = readFields(this.#text).map(({ kind, ...field }): KubeField => {
      return { ...field, kind: isScalarKind(kind) ? kind : this.#find(kind) };
    });
    const byNumber: (KubeField | undefined)[] = [];
    for (const field of fields) byNumber[field.fieldNumber] = field;
    this.#byNumber = Array.from(byNumber);
    this.#fields = fields;
    return fields;
  }
}

/** A value does not fit its field. The message names the innermost field. */
class MisfitError extends TypeError {}

function writeField(writer: WireWriter, { fieldNumber, shape, kind }: KubeField, value: unknown): void {
  if (shape === 'list') {
    if (!Array.isArray(value)) throw new TypeError(`expected a list, got ${typeof value}`);
    for (const element of value) writeTagged(writer, fieldNumber, kind, element);
  } else if (shape === 'map') {
    for (const [key, entry] of Object.entries(asObject(value))) {
      if (entry === undefined || entry === null) continue;
      writer.tag(fieldNumber, WireType.BYTES);
      writer.block(() => {
        writeTagged(writer, 1, 'string', key);
        writeTagged(writer, 2, kind, entry);
      });
    }
  } else writeTagged(writer, fieldNumber, kind, value);
}

function writeTagged(writer: WireWriter, fieldNumber: number, kind: KubeField['kind'], value: unknown): void {
  if (typeof kind === 'string') {
    writer.tag(fieldNumber, scalarWireType(kind));
    writeScalar(writer, kind, value);
    return;
  }
  const object = asObject(value);
  writer.tag(fieldNumber, WireType.BYTES);
  writer.block(() => kind.write(writer, object));
}

/** False when the wire type does not fit the field; the caller then skips it as an unknown field. */
function readField(
  reader: WireReader,
  end: number,
  field: KubeField,
  wireType: number,
  target: JsonObject,
): boolean {
  const { property, shape, kind } = field;
  const expected = typeof kind === 'string' ? scalarWireType(kind) : WireType.BYTES;
  if (shape === 'inline' && typeof kind !== 'string') {
    if (wireType !== WireType.BYTES) return false;
    kind.read(reader, reader.blockEnd(end), target);
  } else if (shape === 'map') {
    if (wireType !== WireType.BYTES) return false;
    target[property] ??= {};
    readEntry(reader, reader.blockEnd(end), kind, asObject(target[property]));
  } else if (shape === 'list') {
    target[property] ??= [];
    // Made by the line above and nowhere else.
    const elements = target[property] as unknown[];
    if (wireType === expected) elements.push(readValue(reader, end, kind));
    else if (wireType === WireType.BYTES && kind === 'int') {
      // Writers may pack numbers.
      const blockEnd = reader.blockEnd(end);
      while (reader.position < blockEnd) elements.push(readValue(reader, blockEnd, kind));
    } else return false;
  } else {
    if (wireType !== expected) return false;
    const value = readValue(reader, end, kind);
    if (value === undefined || (!field.keepsZero && isZero(value))) delete target[property];
    else target[property] = value;
  }
  return true;
}

function readEntry(reader: WireReader, end: number, kind: KubeField['kind'], entries: JsonObject): void {
  let key = '';
  let value: unknown = typeof kind === 'string' ? absentEntry(kind) : {};
  const valueTag = (2 << 3) | (typeof kind === 'string' ? scalarWireType(kind) : WireType.BYTES);
  while (reader.position < end) {
    const tag = reader.uint32(end);
    if (tag === ((1 << 3) | WireType.BYTES)) key = reader.string(end);
    else if (tag === valueTag) value = readValue(reader, end, kind);
    else reader.skip(tag, end);
  }
  // A plain assignment would lose a label named __proto__.
  Object.defineProperty(entries, key, { value, enumerable: true, configurable: true, writable: true });
}

function readValue(reader: WireReader, end: number, kind: KubeField['kind']): unknown {
  if (typeof kind === 'string') return readScalar(reader, end, kind);
  const nested: JsonObject = {};
  kind.read(reader, reader.blockEnd(end), nested);
  return nested;
}

function asObject(value: unknown): JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new TypeError(`expected an object, got ${Array.isArray(value) ? 'a list' : typeof value}`);
  // Any object can be read as a record of unknown values.
  return value as JsonObject;
}
