/** The types of the API as data: each object's fields, what they hold, and how their values are merged. */
import { isAlwaysPresent, isWholeType, listFacts, wholeField } from './merge-rules.js';
import { typeTables } from './tables/index.js';

const scalars = [
  'string',
  'int32',
  'int64',
  'bool',
  'quantity',
  'time',
  'microTime',
  'intOrString',
  'bytes',
  'any',
] as const;
export type ApiScalar = (typeof scalars)[number];

/** How apply knows the members of a list. */
export type ApiListRule =
  | { readonly kind: 'atomic' }
  | { readonly kind: 'set' }
  | { readonly kind: 'map'; readonly keys: readonly string[] };

/** `whole` values have one owner. */
export type ApiValueType =
  | { readonly kind: 'scalar'; readonly scalar: ApiScalar }
  | { readonly kind: 'list'; readonly item: ApiValueType; readonly rule: ApiListRule }
  | { readonly kind: 'mapping'; readonly item: ApiValueType; readonly whole: boolean }
  | { readonly kind: 'object'; readonly type: ApiObjectType; readonly whole: boolean };

export interface ApiField {
  readonly name: string;
  readonly value: ApiValueType;
  readonly isRequired: boolean;
  /** Every object of the type has it, if only empty. */
  readonly isAlwaysPresent: boolean;
  /** How strategic merge patches know the members of this list: by a key, or, when true, by their values. */
  readonly merge: string | true | undefined;
}

export interface ApiObjectType {
  readonly name: string;
  readonly fields: ReadonlyMap<string, ApiField>;
}

interface GrowingApiObjectType extends ApiObjectType {
  readonly fields: Map<string, ApiField>;
}

const compiled = new Map<string, GrowingApiObjectType>();

/** The type of a kind's objects; undefined for a kind that the tables do not have. */
export function kindType(kind: string): ApiObjectType | undefined {
  const type = apiType(kind);
  return type?.fields.has('apiVersion') === true && type.fields.has('metadata') ? type : undefined;
}

export function apiType(name: string): ApiObjectType | undefined {
  const known = compiled.get(name);
  if (known !== undefined) return known;
  const table = Object.hasOwn(typeTables, name) ? typeTables[name] : undefined;
  if (table === undefined) return undefined;
  const type: GrowingApiObjectType = { name, fields: new Map() };
  // Registered before its fields are read, so that a type may contain itself.
  compiled.set(name, type);
  const isKind = Object.hasOwn(table, 'apiVersion') && Object.hasOwn(table, 'metadata');
  for (const [field, notation] of Object.entries(table)) {
    const isRequired = notation.endsWith('!');
    const facts = listFacts(name, field);
    type.fields.set(field, {
      name: field,
      value: valueType(isRequired ? notation.slice(0, -1) : notation, name, field),
      isRequired,
      isAlwaysPresent: isAlwaysPresent(name, field, isKind),
      merge: facts?.merge,
    });
  }
  return type;
}

function valueType(notation: string, type: string, field: string): ApiValueType {
  if (notation.startsWith('[]'))
    return { kind: 'list', item: valueType(notation.slice(2), type, ''), rule: listRule(type, field) };
  if (notation.startsWith('{}')) {
    const whole = wholeField(type, field) ?? false;
    return { kind: 'mapping', item: valueType(notation.slice(2), type, ''), whole };
  }
  const scalar = scalars.find((one) => one === notation);
  if (scalar !== undefined) return { kind: 'scalar', scalar };
  const object = apiType(notation);
  if (object === undefined) throw new Error(`the table of ${type} names an unknown type ${notation}`);
  return { kind: 'object', type: object, whole: wholeField(type, field) ?? isWholeType(notation) };
}

function listRule(type: string, field: string): ApiListRule {
  const facts = listFacts(type, field);
  if (facts?.keys !== undefined) return { kind: 'map', keys: facts.keys };
  return { kind: facts?.isSet === true ? 'set' : 'atomic' };
}
