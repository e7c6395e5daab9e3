/** The schema of manifests as data: each object's fields and their kinds of values. */
import { containerTables } from './schema/container-tables.js';
import type { ManifestScalarKind, ManifestTypeName } from './schema/fields.js';
import { objectTables } from './schema/object-tables.js';
import { podTables } from './schema/pod-tables.js';
import { volumeTables } from './schema/volume-tables.js';

export type ValueSchema =
  | { readonly kind: 'scalar'; readonly scalar: ManifestScalarKind }
  | { readonly kind: 'list'; readonly item: ValueSchema }
  | { readonly kind: 'mapping'; readonly item: ValueSchema }
  | { readonly kind: 'object'; readonly object: ObjectSchema };

export interface ObjectSchema {
  readonly name: ManifestTypeName;
  readonly fields: ReadonlyMap<string, ValueSchema>;
  /** Fields that are always present; a missing one gets its zero value. */
  readonly required: readonly string[];
}

interface GrowingObjectSchema extends ObjectSchema {
  readonly fields: Map<string, ValueSchema>;
  readonly required: string[];
}

const tables: Readonly<Record<ManifestTypeName, Readonly<Record<string, string>>>> = {
  ...podTables,
  ...containerTables,
  ...volumeTables,
  ...objectTables,
};
const scalarKinds: ReadonlySet<string> = new Set<ManifestScalarKind>([
  'string',
  'int32',
  'int64',
  'bool',
  'quantity',
  'time',
  'intOrString',
  'any',
]);
const compiled = new Map<string, GrowingObjectSchema>();

/** The schema of an object type; compiled on first use. */
export function objectSchema(name: ManifestTypeName): ObjectSchema {
  const known = compiled.get(name);
  if (known !== undefined) return known;
  const schema: GrowingObjectSchema = { name, fields: new Map(), required: [] };
  // Registered before its fields are read, so that a type may contain itself.
  compiled.set(name, schema);
  for (const [field, notation] of Object.entries(tables[name])) {
    const isRequired = notation.endsWith('!');
    schema.fields.set(field, valueSchema(isRequired ? notation.slice(0, -1) : notation));
    if (isRequired) schema.required.push(field);
  }
  return schema;
}

/** The value of a required field that the manifest omits. */
export function zeroValue(schema: ValueSchema): unknown {
  switch (schema.kind) {
    case 'list':
      return [];
    case 'mapping':
      return {};
    case 'object': {
      const value: Record<string, unknown> = {};
      for (const [field, member] of requiredFields(schema.object)) value[field] = zeroValue(member);
      return value;
    }
    case 'scalar':
      return zeroScalar(schema.scalar);
  }
}

/**
 * The field that was probably meant, if any: one in other letter case, else the nearest within a few edits.
 */
export function nearestField(schema: ObjectSchema, written: string): string | undefined {
  const folded = written.toLowerCase();
  let nearest: string | undefined;
  let nearestDistance = Math.min(3, Math.floor(written.length / 3) + 1);
  for (const field of schema.fields.keys()) {
    if (field.toLowerCase() === folded) return field;
    const distance = editDistance(field.toLowerCase(), folded, nearestDistance);
    if (distance < nearestDistance) {
      nearest = field;
      nearestDistance = distance;
    }
  }
  return nearest;
}

export function* requiredFields(schema: ObjectSchema): Generator<[string, ValueSchema]> {
  for (const field of schema.required) {
    const member = schema.fields.get(field);
    if (member !== undefined) yield [field, member];
  }
}

function valueSchema(notation: string): ValueSchema {
  if (notation.startsWith('[]')) return { kind: 'list', item: valueSchema(notation.slice(2)) };
  if (notation.startsWith('{}')) return { kind: 'mapping', item: valueSchema(notation.slice(2)) };
  if (isScalarKind(notation)) return { kind: 'scalar', scalar: notation };
  if (isTypeName(notation)) return { kind: 'object', object: objectSchema(notation) };
  throw new Error(`schema table names an unknown kind "${notation}"`);
}

function isScalarKind(notation: string): notation is ManifestScalarKind {
  return scalarKinds.has(notation);
}

function isTypeName(notation: string): notation is ManifestTypeName {
  return Object.hasOwn(tables, notation);
}

function zeroScalar(scalar: ManifestScalarKind): unknown {
  switch (scalar) {
    case 'string':
    case 'time':
      return '';
    case 'quantity':
      return '0';
    case 'int32':
    case 'int64':
    case 'intOrString':
      return 0;
    case 'bool':
      return false;
    case 'any':
      return undefined;
  }
}

/** Levenshtein distance; stops as soon as it cannot be below `limit`. */
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit;
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const substitution = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min(substitution, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    if (Math.min(...current) >= limit) return limit;
    previous = current;
  }
  return previous[b.length] ?? limit;
}
