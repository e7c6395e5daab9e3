/** Reads an object of a client by its schema: refuses values of wrong types, and leaves unknown fields out. */
import { setOwn } from '../../kube/values/deep-equal.js';
import { parseTimestamp } from '../../kube/values/go-format.js';
import { tryParseQuantity } from '../../kube/values/quantity.js';
import { isMapping } from '../../kube-client/patches/json.js';
import { kubeApiLimits } from '../limits.js';
import { type ApiObjectType, type ApiScalar, type ApiValueType, kindType } from './api-types.js';

/** A field holds what its type cannot. */
export class WrongFieldValue extends Error {
  override readonly name = 'WrongFieldValue';
}

export interface ObjectReading {
  readonly object: Record<string, unknown>;
  /** As in `spec.containers[0].foo`. */
  readonly unknownFields: readonly string[];
}

/** A copy with only the fields of its kind; members that are null are absent. Throws `WrongFieldValue`. */
export function readFields(kind: string, value: Readonly<Record<string, unknown>>): ObjectReading {
  const type = kindType(kind);
  const place: FieldPlace = { path: '', names: '', holder: kind };
  if (type === undefined) {
    if (!isMapping(value.metadata))
      throw wrong(value.metadata, { ...place, names: 'metadata' }, 'v1.ObjectMeta');
    return { object: { ...value }, unknownFields: [] };
  }
  const unknownFields: string[] = [];
  return { object: readObjectOf(type, value, place, unknownFields), unknownFields };
}

interface FieldPlace {
  /** With indexes, for people. */
  readonly path: string;
  /** Without indexes, as the API server names a field of a wrong type. */
  readonly names: string;
  /** The type that has the field. */
  readonly holder: string;
}

function readObjectOf(
  type: ApiObjectType,
  value: Readonly<Record<string, unknown>>,
  place: FieldPlace,
  unknownFields: string[],
): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [key, member] of Object.entries(value)) {
    const path = place.path === '' ? key : `${place.path}.${key}`;
    const field = type.fields.get(key);
    if (field === undefined) {
      if (unknownFields.length < kubeApiLimits.unknownFieldsTold) unknownFields.push(path.slice(0, 500));
      continue;
    }
    if (member === null || member === undefined) {
      // Some times are written even when they are not known.
      if (member === null && isTime(field.value)) result[key] = null;
      continue;
    }
    const names = place.names === '' ? key : `${place.names}.${key}`;
    result[key] = readValue(field.value, member, { path, names, holder: type.name }, unknownFields);
  }
  return result;
}

function isTime(type: ApiValueType): boolean {
  return type.kind === 'scalar' && (type.scalar === 'time' || type.scalar === 'microTime');
}

function readValue(type: ApiValueType, value: unknown, place: FieldPlace, unknownFields: string[]): unknown {
  switch (type.kind) {
    case 'scalar':
      return readScalar(type.scalar, value, place);
    case 'list':
      if (!Array.isArray(value)) throw wrong(value, place, type);
      return value.map((item: unknown, index) =>
        readMember(type.item, item, { ...place, path: `${place.path}[${index}]` }, unknownFields),
      );
    case 'mapping': {
      if (!isMapping(value)) throw wrong(value, place, type);
      const result: Record<string, unknown> = {};
      for (const [key, item] of Object.entries(value)) {
        const path = `${place.path}.${key}`;
        setOwn(result, key, readMember(type.item, item, { ...place, path }, unknownFields));
      }
      return result;
    }
    case 'object':
      if (!isMapping(value)) throw wrong(value, place, type);
      return readObjectOf(type.type, value, place, unknownFields);
  }
}

/** A member of a list or mapping that is null has the zero value of its type. */
function readMember(type: ApiValueType, value: unknown, place: FieldPlace, unknownFields: string[]): unknown {
  return value === null ? zeroOf(type) : readValue(type, value, place, unknownFields);
}

function zeroOf(type: ApiValueType): unknown {
  if (type.kind === 'list') return [];
  if (type.kind !== 'scalar') return {};
  switch (type.scalar) {
    case 'string':
    case 'bytes':
      return '';
    case 'quantity':
      return '0';
    case 'bool':
      return false;
    case 'int32':
    case 'int64':
    case 'intOrString':
      return 0;
    case 'time':
    case 'microTime':
    case 'any':
      return null;
  }
}

const quantityForm = "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

function readScalar(scalar: ApiScalar, value: unknown, place: FieldPlace): unknown {
  switch (scalar) {
    case 'any':
      return value;
    case 'string':
      if (typeof value !== 'string') throw wrong(value, place, scalar);
      return value;
    case 'bool':
      if (typeof value !== 'boolean') throw wrong(value, place, scalar);
      return value;
    case 'int32':
      return readNumber(value, place, scalar, 2 ** 31);
    case 'int64':
      return readNumber(value, place, scalar, 2 ** 63);
    case 'intOrString':
      return typeof value === 'string' ? value : readNumber(value, place, 'int32', 2 ** 31);
    case 'quantity':
      if ((typeof value === 'string' || typeof value === 'number') && tryParseQuantity(value) !== undefined)
        return String(value);
      throw new WrongFieldValue(`quantities must match the regular expression ${quantityForm}`);
    case 'time':
    case 'microTime':
      if (typeof value !== 'string') throw wrong(value, place, 'string');
      if (parseTimestamp(value) === undefined)
        throw new WrongFieldValue(
          `parsing time ${JSON.stringify(value)} of ${place.path}: it is not as in "2006-01-02T15:04:05Z"`,
        );
      return value;
    case 'bytes': {
      if (typeof value !== 'string') throw wrong(value, place, 'string');
      const stop = firstNoBase64(value);
      if (stop !== undefined)
        throw new WrongFieldValue(`illegal base64 data at input byte ${stop} of ${place.path}`);
      return value;
    }
  }
}

function readNumber(value: unknown, place: FieldPlace, scalar: ApiScalar, limit: number): number {
  if (typeof value !== 'number') throw wrong(value, place, scalar);
  if (!Number.isInteger(value) || value >= limit || value < -limit)
    throw wrong(value, place, scalar, `number ${value}`);
  return value;
}

/** Where the text is no base64; undefined when it is. Line breaks are allowed. */
function firstNoBase64(text: string): number | undefined {
  const stray = /[^A-Za-z0-9+/=\r\n]/.exec(text);
  if (stray !== null) return stray.index;
  const plain = text.replace(/[\r\n]/g, '');
  const padding = /=/.exec(plain);
  if (plain.length % 4 !== 0) return plain.length;
  if (padding !== null && !/^={1,2}$/.test(plain.slice(padding.index))) return padding.index;
  return undefined;
}

function wrong(
  value: unknown,
  { names, holder }: FieldPlace,
  wanted: ApiValueType | string,
  found = typeName(value),
): WrongFieldValue {
  const type = typeof wanted === 'string' ? wanted : typeText(wanted);
  return new WrongFieldValue(
    `json: cannot unmarshal ${found} into Go struct field ${holder}.${names} of type ${type}`,
  );
}

function typeName(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  if (value === null) return 'null';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}

/** In the words of the API server. */
function typeText(type: ApiValueType): string {
  switch (type.kind) {
    case 'scalar':
      return type.scalar;
    case 'list':
      return `[]${typeText(type.item)}`;
    case 'mapping':
      return `map[string]${typeText(type.item)}`;
    case 'object':
      return `v1.${type.type.name}`;
  }
}
