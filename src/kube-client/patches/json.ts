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
  for (const key of Object.keys(a)) if (!jsonEqual(a[key], member(b, key))) return false;
  return Object.keys(b).every((key) => b[key] === undefined || Object.hasOwn(a, key));
}

/** Whether lists and mappings are nested deeper than this. */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) return value.some((item) => isDeeper(item, levels - 1));
  return Object.values(value).some((item) => isDeeper(item, levels - 1));
}

/** A patch that cannot be applied to its object; the API responds with 422 or 400. */
export class PatchRefused extends Error {
  override readonly name = 'PatchRefused';
}
