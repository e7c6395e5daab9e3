/** Plans what a log rotation does to the files beside the log. */

export interface RotationPlan {
  /** Files to delete. */
  readonly remove: readonly string[];
  /** Files to compress. */
  readonly compress: readonly string[];
}

/**
 * `names` are the files in the log's directory. Keeps `maxFiles - 2` rotated ones: with the log itself and
 * the one about to be rotated that makes `maxFiles`.
 */
export function planRotation(log: string, names: readonly string[], maxFiles: number): RotationPlan {
  const rotated = names.filter((name) => name.startsWith(`${log}.`)).sort();
  const compressed = new Set(rotated.filter((name) => name.endsWith('.gz')));
  const stale = rotated.filter((name) => name.endsWith('.tmp') || compressed.has(`${name}.gz`));
  const kept = rotated.filter((name) => !stale.includes(name));
  const surplus = kept.slice(0, Math.max(0, kept.length - Math.max(0, maxFiles - 2)));
  const remaining = kept.slice(surplus.length);
  return { remove: [...stale, ...surplus], compress: remaining.filter((name) => !name.endsWith('.gz')) };
}

/** The rotated log's name, with the machine's local time, so that names sort by age. */
export function rotatedName(log: string, nowMs: number): string {
  const at = new Date(nowMs);
  const two = (value: number): string => String(value).padStart(2, '0');
  const date = `${at.getFullYear()}${two(at.getMonth() + 1)}${two(at.getDate())}`;
  return `${log}.${date}-${two(at.getHours())}${two(at.getMinutes())}${two(at.getSeconds())}`;
}
