/** Reads and writes one setting of a nested configuration by its path. */

/** A configuration under construction, field by field from the table. */
export type ConfigTree = Record<string, unknown>;

export function isRecord(value: unknown): value is ConfigTree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function readPath(tree: object, path: string): unknown {
  let current: unknown = tree;
  for (const part of path.split('.')) {
    if (!isRecord(current)) return undefined;
    current = current[part];
  }
  return current;
}

/** Creates missing parent structures. `undefined` deletes the field, and still creates the parents. */
export function writePath(tree: ConfigTree, path: string, value: unknown): void {
  const parts = path.split('.');
  const last = parts.pop();
  if (last === undefined) return;
  let current = tree;
  for (const part of parts) {
    const next = current[part];
    if (isRecord(next)) current = next;
    else {
      const created: ConfigTree = {};
      current[part] = created;
      current = created;
    }
  }
  if (value === undefined) delete current[last];
  else current[last] = value;
}
