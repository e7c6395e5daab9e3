/** JSON merge patch (RFC 7386): members replace members, null removes, lists are replaced whole. */
import { setOwn } from '../../kube/values/deep-equal.js';
import { isMapping, member } from './json.js';

export function applyMergePatch(original: unknown, patch: unknown): unknown {
  if (!isMapping(patch)) return patch;
  const result: Record<string, unknown> = isMapping(original) ? { ...original } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === undefined) continue;
    if (value === null) delete result[key];
    else setOwn(result, key, applyMergePatch(member(original, key), value));
  }
  return result;
}
