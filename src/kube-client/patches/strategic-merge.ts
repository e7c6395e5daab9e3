/**
 * Applies a strategic merge patch: like a merge patch, but lists with a merge key are merged member by
 * member.
 */
import { setOwn } from '../../kube/values/deep-equal.js';
import { isMapping, type JsonMapping, member, PatchRefused } from './json.js';
import { fieldSchema, listSchema, type MergedList, type MergeSchema } from './merge-keys.js';

export const orderDirective = '$setElementOrder/';
export const deleteDirective = '$deleteFromPrimitiveList/';

export function applyStrategicMergePatch(schema: MergeSchema, original: unknown, patch: unknown): unknown {
  if (!isMapping(patch)) return patch;
  const directive = patch.$patch;
  if (directive === 'replace') return withoutDirectives(patch);
  if (directive === 'delete') return {};
  if (directive !== undefined && directive !== 'merge') {
    throw new PatchRefused(`unrecognized patch directive ${JSON.stringify(directive)}`);
  }
  const result: Record<string, unknown> = isMapping(original) ? { ...original } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith('$') || value === undefined) continue;
    if (value === null) delete result[key];
    else setOwn(result, key, applyMember(schema, patch, key, member(original, key), value));
  }
  applyBareDirectives(schema, patch, result);
  if (Array.isArray(patch.$retainKeys)) {
    const retained = new Set<unknown>(patch.$retainKeys);
    for (const key of Object.keys(result)) if (!retained.has(key)) delete result[key];
  }
  return result;
}

function applyMember(
  schema: MergeSchema,
  patch: JsonMapping,
  key: string,
  original: unknown,
  value: unknown,
): unknown {
  const list = listSchema(schema, key);
  if (Array.isArray(value)) {
    if (list === undefined) return value;
    const merged =
      list.key === undefined
        ? mergeSet(listOf(original), value, listOf(patch[`${deleteDirective}${key}`]))
        : mergeByKey(list, list.key, listOf(original), value);
    return ordered(list, merged, patch[`${orderDirective}${key}`], listOf(original));
  }
  return applyStrategicMergePatch(fieldSchema(schema, key), original, value);
}

/** Order and deletions for lists that the patch otherwise leaves alone. */
function applyBareDirectives(schema: MergeSchema, patch: JsonMapping, result: Record<string, unknown>): void {
  for (const [name, list] of Object.entries(schema.lists ?? {})) {
    if (patch[name] !== undefined) continue;
    const deleted = new Set(listOf(patch[`${deleteDirective}${name}`]));
    const current = listOf(result[name]);
    if (deleted.size > 0) result[name] = current.filter((item) => !deleted.has(item));
    const order = patch[`${orderDirective}${name}`];
    if (order !== undefined && result[name] !== undefined) {
      result[name] = ordered(list, listOf(result[name]), order, current);
    }
  }
}

function mergeSet(
  original: readonly unknown[],
  added: readonly unknown[],
  deleted: readonly unknown[],
): unknown[] {
  const gone = new Set(deleted);
  return [...new Set([...original.filter((item) => !gone.has(item)), ...added])];
}

function mergeByKey(
  list: MergedList,
  key: string,
  original: readonly unknown[],
  patches: readonly unknown[],
): unknown[] {
  const replaces = patches.some((patch) => isMapping(patch) && patch.$patch === 'replace');
  if (replaces) return patches.filter((patch) => !isMapping(patch) || patch.$patch === undefined);
  // Lists may have many thousand members: each is found by its key, and those that go leave a hole until the end.
  const result: unknown[] = [...original];
  const places = placesByKey(original, key);
  for (const patch of patches) {
    if (!isMapping(patch)) throw new PatchRefused('a member of a merged list is not a mapping');
    const id = patch[key];
    if (id === undefined)
      throw new PatchRefused(`map: ${JSON.stringify(patch)} does not contain declared merge key: ${key}`);
    const [index = -1] = places.get(id) ?? [];
    if (patch.$patch === 'delete') {
      if (index >= 0) result[index] = gone;
      places.get(id)?.shift();
      continue;
    }
    const merged = applyStrategicMergePatch(list.members ?? {}, index < 0 ? {} : result[index], patch);
    if (index < 0) places.set(id, [result.push(merged) - 1]);
    else result[index] = merged;
  }
  return result.filter((item) => item !== gone);
}

const gone = Symbol('gone');

/** The places of members with each key, in order. */
function placesByKey(list: readonly unknown[], key: string): Map<unknown, number[]> {
  const places = new Map<unknown, number[]>();
  for (const [index, item] of list.entries()) {
    const id = member(item, key);
    const known = places.get(id);
    if (known === undefined) places.set(id, [index]);
    else known.push(index);
  }
  return places;
}

/**
 * Named members get the given order; those that only the object has keep their place relative to their old
 * neighbours.
 */
function ordered(
  list: MergedList,
  merged: readonly unknown[],
  order: unknown,
  original: readonly unknown[],
): unknown[] {
  if (!Array.isArray(order)) return [...merged];
  const idOf = (item: unknown): unknown => (list.key === undefined ? item : member(item, list.key));
  const rank = new Map(order.map((item, index) => [idOf(item), index]));
  const before = new Map(original.map((item, index) => [idOf(item), index]));
  const rankOf = (item: unknown): number => rank.get(idOf(item)) ?? Number.POSITIVE_INFINITY;
  const named = merged.filter((item) => rank.has(idOf(item))).sort((a, b) => rankOf(a) - rankOf(b));
  const others = merged.filter((item) => !rank.has(idOf(item)));
  const result: unknown[] = [];
  let nextNamed = 0;
  let nextOther = 0;
  while (result.length < merged.length) {
    const [next, other] = [named[nextNamed], others[nextOther]];
    const placeOfOther = before.get(idOf(other)) ?? Number.POSITIVE_INFINITY;
    const placeOfNext = before.get(idOf(next)) ?? Number.POSITIVE_INFINITY;
    const otherFirst =
      nextNamed === named.length || (nextOther < others.length && placeOfOther < placeOfNext);
    result.push(otherFirst ? others[nextOther++] : named[nextNamed++]);
  }
  return result;
}

function withoutDirectives(patch: JsonMapping): JsonMapping {
  return Object.fromEntries(Object.entries(patch).filter(([key]) => !key.startsWith('$')));
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
