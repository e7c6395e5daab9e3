/** What two versions of an object differ in, as sets of fields. */
import { isMapping, jsonEqual } from '../../kube-client/patches/json.js';
import type { ApiValueType } from '../schema/api-types.js';
import { type FieldSet, fieldSet, noFields, wholeField } from './field-set.js';
import { isDivided, isEmptyValue, partsOf } from './members.js';

export interface FieldDifferences {
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

const same: FieldDifferences = { added: noFields, modified: noFields, removed: noFields };

/** Undefined values are absent. */
export function compareFields(type: ApiValueType, before: unknown, after: unknown): FieldDifferences {
  if (before === undefined && after === undefined) return same;
  if (!isDivided(type) || (isEmptyValue(before) && isEmptyValue(after))) return compareLeaf(before, after);
  const old = before === undefined ? new Map() : partsOf(type, before);
  const next = after === undefined ? new Map() : partsOf(type, after);
  if (old === undefined || next === undefined) return compareLeaf(before, after);
  const added: [string, FieldSet][] = [];
  const modified: [string, FieldSet][] = [];
  const removed: [string, FieldSet][] = [];
  for (const name of new Set([...old.keys(), ...next.keys()])) {
    const [was, is] = [old.get(name), next.get(name)];
    const part = is?.type ?? was?.type;
    if (part === undefined) continue;
    const below = compareFields(part, was?.value, is?.value);
    added.push([name, below.added]);
    modified.push([name, below.modified]);
    removed.push([name, below.removed]);
  }
  return {
    added: fieldSet(before === undefined, added),
    modified: fieldSet(false, modified),
    removed: fieldSet(after === undefined, removed),
  };
}

function compareLeaf(before: unknown, after: unknown): FieldDifferences {
  if (before === undefined) return { ...same, added: wholeField };
  if (after === undefined) return { ...same, removed: wholeField };
  return jsonEqual(before, after) ? same : { ...same, modified: wholeField };
}

/** The fields that a configuration names, which whoever applies it will own. */
export function fieldsOf(type: ApiValueType, value: unknown): FieldSet {
  if (!isDivided(type)) return wholeField;
  // What every object has is owned only by who wrote it.
  const parts = partsOf(type, value);
  if (parts === undefined) return wholeField;
  const children = [...parts]
    .filter(([name]) => type.kind !== 'object' || isWritten(value, name))
    .map(([name, part]): [string, FieldSet] => {
      const below = fieldsOf(part.type, part.value);
      const isOwned =
        below.isOwned || type.kind === 'list' || (isEmptyValue(part.value) && !Array.isArray(part.value));
      return [name, { isOwned, children: below.children }];
    });
  return fieldSet(false, children);
}

function isWritten(value: unknown, name: string): boolean {
  return isMapping(value) && value[name.slice(2)] !== undefined;
}
