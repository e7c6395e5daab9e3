/** Reads and compares plain JSON, for all patches. */

export type JsonMapping = Readonly<Record<string, unknown>>;

export function isMapping(value: unknown): value is JsonMapping {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The mapping's own member, never an inherited one. */
export function member(of: unknown, key: string): unknown {
  return isMapping(of) && Object.hasOwn(of, key) ? of[key] : undefined;
}

/** Equal as JSON text: an undefined member is absent. */
export function jsonEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => jsonEqual(item, b[index]));
  }
  if (!isMapping(a) || !isMapping(b)) return false;
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...keys].every((key) => jsonEqual(member(a, key), member(b, key)));
}

/** A patch that cannot be applied to its object; the API responds with 422 or 400. */
export class PatchRefused extends Error {
  override readonly name = 'PatchRefused';
}
