/** Writes containerd's configuration from plain data, so that a test can override any part of it. */

export type TomlValue = string | number | boolean | readonly string[] | TomlTable;
export interface TomlTable {
  readonly [key: string]: TomlValue;
}

function isTable(value: TomlValue): value is TomlTable {
  return typeof value === 'object' && !Array.isArray(value);
}

/** `overrides` over `base`: tables merge key by key, everything else is replaced. */
export function mergeToml(base: TomlTable, overrides: TomlTable): TomlTable {
  const merged: Record<string, TomlValue> = { ...base };
  for (const [key, value] of Object.entries(overrides)) {
    const before = merged[key];
    merged[key] =
      before !== undefined && isTable(before) && isTable(value) ? mergeToml(before, value) : value;
  }
  return merged;
}

export function formatToml(table: TomlTable, path: readonly string[] = []): string {
  const entries = Object.entries(table);
  const lines = path.length === 0 ? [] : [`[${path.map(formatKey).join('.')}]`];
  for (const [key, value] of entries) {
    if (!isTable(value)) {
      // JSON strings, numbers, booleans and string lists are valid TOML.
      lines.push(`${formatKey(key)} = ${JSON.stringify(value)}`);
    }
  }
  const tables = entries.flatMap(([key, value]) =>
    isTable(value) ? [formatToml(value, [...path, key])] : [],
  );
  return [`${lines.join('\n')}\n`, ...tables].join('\n');
}

function formatKey(key: string): string {
  return /^[A-Za-z0-9_-]+$/.test(key) ? key : JSON.stringify(key);
}
