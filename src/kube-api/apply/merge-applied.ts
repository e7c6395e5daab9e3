/** Puts an applied configuration into an object, and takes out what its manager no longer applies. */
import { setOwn } from '../../kube/values/deep-equal.js';
import { isMapping, member } from '../../kube-client/patches/json.js';
import type { ApiValueType } from '../schema/api-types.js';
import { type FieldSet, isEmptySet, noFields } from './field-set.js';
import { type DividedType, isDivided, isEmptyValue, memberName } from './members.js';

/** The configuration wins; what it does not name stays. */
export function mergeApplied(type: ApiValueType, live: unknown, applied: unknown): unknown {
  if (applied === undefined) return live;
  if (live === undefined || !isDivided(type)) return applied;
  if (type.kind === 'list')
    return Array.isArray(live) && Array.isArray(applied) ? mergeLists(type, live, applied) : applied;
  if (!isMapping(live) || !isMapping(applied)) return applied;
  const result: Record<string, unknown> = { ...live };
  for (const [key, value] of Object.entries(applied))
    setOwn(result, key, mergeApplied(typeBelow(type, key), member(live, key), value));
  return result;
}

function typeBelow(type: DividedType, key: string): ApiValueType {
  if (type.kind !== 'object') return type.item;
  return type.type.fields.get(key)?.value ?? { kind: 'scalar', scalar: 'any' };
}

/** Members of both get the order of the configuration; the others stay behind their old neighbours. */
function mergeLists(
  type: Extract<ApiValueType, { kind: 'list' }>,
  live: readonly unknown[],
  applied: readonly unknown[],
): unknown[] {
  const nameOf = (item: unknown): string | undefined => memberName(type.rule, type.item, item);
  const names = live.map(nameOf);
  const liveByName = new Map(names.map((name, index) => [name, live[index]]));
  const appliedNames = new Set(applied.map(nameOf));
  const done = new Set<string | undefined>();
  const result: unknown[] = [];
  let at = 0;
  // Members that the configuration does not name, up to the next that it names.
  const keepOthers = (): void => {
    for (; at < live.length && (!appliedNames.has(names[at]) || done.has(names[at])); at++)
      if (!appliedNames.has(names[at])) result.push(live[at]);
  };
  for (const item of applied) {
    keepOthers();
    const name = nameOf(item);
    done.add(name);
    result.push(name === undefined ? item : mergeApplied(type.item, liveByName.get(name), item));
  }
  keepOthers();
  return result;
}

/**
 * Takes out the fields that a manager applied before and that nobody owns now. What others own below such a
 * field stays, with the field.
 */
export function pruneUnowned(type: ApiValueType, value: unknown, before: FieldSet, owned: FieldSet): unknown {
  if (!isDivided(type)) return value;
  if (type.kind === 'list') {
    if (!Array.isArray(value)) return value;
    return value.flatMap((item: unknown) => {
      const name = memberName(type.rule, type.item, item);
      const had = name === undefined ? undefined : before.children.get(name);
      if (had === undefined || name === undefined) return [item];
      const kept = prunePart(type.item, item, had, owned.children.get(name) ?? noFields);
      return kept === undefined ? [] : [kept];
    });
  }
  if (!isMapping(value)) return value;
  const result: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    const had = before.children.get(`f:${key}`);
    const kept =
      had === undefined
        ? item
        : prunePart(typeBelow(type, key), item, had, owned.children.get(`f:${key}`) ?? noFields);
    if (kept !== undefined) setOwn(result, key, kept);
  }
  return result;
}

function prunePart(type: ApiValueType, value: unknown, before: FieldSet, owned: FieldSet): unknown {
  if (before.isOwned && isEmptySet(owned)) return undefined;
  const kept = pruneUnowned(type, value, before, owned);
  const isCollection = type.kind === 'list' || type.kind === 'mapping';
  return isCollection && isEmptyValue(kept) && !isEmptyValue(value) && !owned.isOwned ? undefined : kept;
}
