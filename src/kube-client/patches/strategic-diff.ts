/**
 * The strategic merge patch that turns one object into another: only the differences, in the form that the
 * API merges.
 */
import { setOwn } from '../../kube/values/deep-equal.js';
import { isMapping, type JsonMapping, jsonEqual, member } from './json.js';
import { fieldSchema, listSchema, type MergedList, type MergeSchema } from './merge-keys.js';
import { deleteDirective, orderDirective } from './strategic-merge.js';

/** Empty when there is no difference. */
export function strategicMergeDiff(
  schema: MergeSchema,
  original: unknown,
  modified: unknown,
): Record<string, unknown> {
  const from = isMapping(original) ? original : {};
  const to = isMapping(modified) ? modified : {};
  const patch: Record<string, unknown> = {};
  for (const key of Object.keys(to)) {
    if (!isAbsent(to[key])) diffMember(schema, key, member(from, key), to[key], patch);
  }
  for (const key of Object.keys(from)) {
    if (!isAbsent(from[key]) && isAbsent(member(to, key))) setOwn(patch, key, null);
  }
  return patch;
}

/** The API omits empty lists, so sending one would remain a difference for ever. */
function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}

function diffMember(
  schema: MergeSchema,
  key: string,
  from: unknown,
  to: unknown,
  patch: Record<string, unknown>,
): void {
  if (jsonEqual(from, to)) return;
  const list = listSchema(schema, key);
  if (Array.isArray(to) && Array.isArray(from) && list !== undefined) {
    if (list.key === undefined) diffSet(key, from, to, patch);
    else diffByKey(list, list.key, key, from, to, patch);
    return;
  }
  if (isMapping(from) && isMapping(to)) {
    const inner = strategicMergeDiff(fieldSchema(schema, key), from, to);
    if (Object.keys(inner).length > 0) setOwn(patch, key, inner);
    return;
  }
  setOwn(patch, key, to);
}

function diffSet(
  key: string,
  from: readonly unknown[],
  to: readonly unknown[],
  patch: Record<string, unknown>,
): void {
  const added = to.filter((item) => !from.includes(item));
  const deleted = from.filter((item) => !to.includes(item));
  if (added.length > 0) patch[key] = added;
  if (deleted.length > 0) patch[`${deleteDirective}${key}`] = deleted;
  patch[`${orderDirective}${key}`] = to;
}

function diffByKey(
  list: MergedList,
  mergeKey: string,
  key: string,
  from: readonly unknown[],
  to: readonly unknown[],
  patch: Record<string, unknown>,
): void {
  const before = new Map(from.map((item) => [member(item, mergeKey), item]));
  const after = new Set(to.map((item) => member(item, mergeKey)));
  const changes: JsonMapping[] = [];
  for (const item of to) {
    const id = member(item, mergeKey);
    const old = before.get(id);
    if (old === undefined) changes.push(isMapping(item) ? item : {});
    else if (!jsonEqual(old, item)) {
      const inner = strategicMergeDiff(list.members ?? {}, old, item);
      if (Object.keys(inner).length > 0) changes.push({ ...inner, [mergeKey]: id });
    }
  }
  for (const id of before.keys()) if (!after.has(id)) changes.push({ $patch: 'delete', [mergeKey]: id });
  const idsBefore = [...before.keys()];
  const idsAfter = to.map((item) => member(item, mergeKey));
  if (changes.length === 0 && jsonEqual(idsBefore, idsAfter)) return;
  if (changes.length > 0) patch[key] = changes;
  patch[`${orderDirective}${key}`] = idsAfter.map((id) => ({ [mergeKey]: id }));
}
