/** Names the fields in which two objects differ, without their values: those may be secrets. */
import { type FieldPath, formatFieldPath, semanticEqual } from '../../../kube/index.js';

/** More would not help whoever reads them. */
const namedFields = 3;

/** `spec.containers[0].command`, or `a, b, c and 4 more`; empty if nothing differs. */
export function changedFields(before: unknown, after: unknown): string {
  const fields = differences(before, after, []).map(formatFieldPath);
  if (fields.length <= namedFields + 1) return fields.join(', ');
  return `${fields.slice(0, namedFields).join(', ')} and ${fields.length - namedFields} more`;
}

function differences(before: unknown, after: unknown, path: FieldPath): FieldPath[] {
  if (semanticEqual(before, after)) return [];
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length)
    return before.flatMap((item, index) => differences(item, after[index], [...path, index]));
  if (!isObject(before) || !isObject(after)) return [path];
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].sort().flatMap((name) => differences(before[name], after[name], [...path, name]));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
