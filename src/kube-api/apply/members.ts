/** The parts of a value that can have owners of their own, each by the name that field sets give it. */
import { isMapping, type JsonMapping, member } from '../../kube-client/patches/json.js';
import type { ApiListRule, ApiObjectType, ApiValueType } from '../schema/api-types.js';
import { keyDefault } from '../schema/merge-rules.js';
import { pathElement } from './field-set.js';

export interface ValuePart {
  readonly type: ApiValueType;
  readonly value: unknown;
}

/** A type of which the parts have owners. */
export type DividedType = Exclude<ApiValueType, { readonly kind: 'scalar' }>;

export function isDivided(type: ApiValueType): type is DividedType {
  switch (type.kind) {
    case 'scalar':
      return false;
    case 'list':
      return type.rule.kind !== 'atomic';
    case 'mapping':
    case 'object':
      return !type.whole;
  }
}

/** The parts of a value; undefined when it has none of its own, because it is not what its type says. */
export function partsOf(type: DividedType, value: unknown): Map<string, ValuePart> | undefined {
  switch (type.kind) {
    case 'mapping':
      if (!isMapping(value)) return undefined;
      return new Map(
        Object.entries(value).map(([key, item]) => [`f:${key}`, { type: type.item, value: item }]),
      );
    case 'object':
      return isMapping(value) ? fieldsOfObject(type.type, value) : undefined;
    case 'list': {
      if (!Array.isArray(value)) return undefined;
      const parts = new Map<string, ValuePart>();
      for (const item of value) {
        const name = memberName(type.rule, type.item, item);
        // Members that cannot be told apart have one owner, together.
        if (name === undefined || parts.has(name)) return undefined;
        parts.set(name, { type: type.item, value: item });
      }
      return parts;
    }
  }
}

function fieldsOfObject(type: ApiObjectType, value: JsonMapping): Map<string, ValuePart> {
  const parts = new Map<string, ValuePart>();
  for (const [key, item] of Object.entries(value)) {
    const field = type.fields.get(key);
    if (item !== undefined)
      parts.set(`f:${key}`, { type: field?.value ?? { kind: 'scalar', scalar: 'any' }, value: item });
  }
  for (const [name, part] of emptyParts(type)) if (!parts.has(name)) parts.set(name, part);
  return parts;
}

const emptyPartsOf = new WeakMap<ApiObjectType, readonly (readonly [string, ValuePart])[]>();

/** What every object of a type has, if only empty. */
function emptyParts(type: ApiObjectType): readonly (readonly [string, ValuePart])[] {
  const known = emptyPartsOf.get(type);
  if (known !== undefined) return known;
  const parts: [string, ValuePart][] = [];
  for (const { name, value, isAlwaysPresent, isRequired } of type.fields.values()) {
    if (isAlwaysPresent || (isRequired && value.kind === 'mapping'))
      parts.push([`f:${name}`, { type: value, value: {} }]);
    else if (isRequired && value.kind === 'list') parts.push([`f:${name}`, { type: value, value: [] }]);
  }
  emptyPartsOf.set(type, parts);
  return parts;
}

/** What a field set calls a member of a list; undefined when its keys are missing. */
export function memberName(rule: ApiListRule, type: ApiValueType, item: unknown): string | undefined {
  switch (rule.kind) {
    case 'atomic':
      return undefined;
    case 'set':
      return typeof item === 'object' ? undefined : `v:${JSON.stringify(item)}`;
    case 'map': {
      if (!isMapping(item) || type.kind !== 'object') return undefined;
      const keys: [string, unknown][] = [];
      for (const key of [...rule.keys].sort()) {
        const value = member(item, key) ?? keyDefault(type.type.name, key);
        if (value === undefined || typeof value === 'object') return undefined;
        keys.push([key, value]);
      }
      return `k:${JSON.stringify(Object.fromEntries(keys))}`;
    }
  }
}

/** An empty mapping or list, or none. */
export function isEmptyValue(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

/** As in `.spec.containers: duplicate entries for key [name="a"]`. */
export function repeatedMember(type: ApiValueType, value: unknown, place: string): string | undefined {
  if (!isDivided(type)) return undefined;
  if (type.kind === 'list') {
    const seen = new Set<string>();
    for (const item of Array.isArray(value) ? value : []) {
      const name = memberName(type.rule, type.item, item);
      if (name !== undefined && seen.has(name))
        return `${place}: duplicate entries for key ${pathElement(name)}`;
      if (name !== undefined) seen.add(name);
      const below = repeatedMember(type.item, item, `${place}${name === undefined ? '' : pathElement(name)}`);
      if (below !== undefined) return below;
    }
    return undefined;
  }
  for (const [name, part] of partsOf(type, value) ?? []) {
    const below = repeatedMember(part.type, part.value, `${place}${pathElement(name)}`);
    if (below !== undefined) return below;
  }
  return undefined;
}
