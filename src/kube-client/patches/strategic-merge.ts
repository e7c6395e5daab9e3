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
    for (const key of Object.keys(result)) if (!patch.$retainKeys.includes(key)) delete result[key];
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
    const deleted = listOf(patch[`${deleteDirective}${name}`]);
    const current = listOf(result[name]);
    if (deleted.length > 0) result[name] = current.filter((item) => !deleted.includes(item));
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
  return [...new Set([...original.filter((item) => !deleted.includes(item)), ...added])];
}

function mergeByKey(
  list: MergedList,
  key: string,
  original: readonly unknown[],
  patches: readonly unknown[],
): unknown[] {
  const replaces = patches.some((patch) => isMapping(patch) && patch.$patch === 'replace');
  if (replaces) return patches.filter((patch) => !isMapping(patch) || patch.$patch === undefined);
  const result = [...original];
  for (const patch of patches) {
    if (!isMapping(patch)) throw new PatchRefused('a member of a merged list is not a mapping');
    const id = patch[key];
    if (id === undefined)
      throw new PatchRefused(`map: ${JSON.stringify(patch)} does not contain declared merge key: ${key}`);
    const index = result.findIndex((item) => member(item, key) === id);
    if (patch.$patch === 'delete') {
      if (index >= 0) result.splice(index, 1);
      continue;
    }
    const merged = applyStrategicMergePatch(list.members ?? {}, index < 0 ? {} : result[index], patch);
    if (index < 0) result.push(merged);
    else result[index] = merged;
  }
  return result;
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
  while (named.length > 0 || others.length > 0) {
    const [next, other] = [named[0], others[0]];
    const placeOfOther = before.get(idOf(other)) ?? Number.POSITIVE_INFINITY;
    const placeOfNext = before.get(idOf(next)) ?? Number.POSITIVE_INFINITY;
    const otherFirst = named.length === 0 || (others.length > 0 && placeOfOther < placeOfNext);
    result.push(otherFirst ? others.shift() : named.shift());
  }
  return result;
}

function withoutDirectives(patch: JsonMapping): JsonMapping {
  return Object.fromEntries(Object.entries(patch).filter(([key]) => !key.startsWith('$')));
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
