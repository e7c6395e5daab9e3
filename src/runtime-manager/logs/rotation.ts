/** What rotating a container's log means for the files beside it. */

export interface RotationPlan {
  /** Files that must go. */
  readonly remove: readonly string[];
  /** Files to be compressed. */
  readonly compress: readonly string[];
}

/**
 * `names` are the files in the log's folder. Of the rotated ones, `maxFiles - 2` stay: with the log itself and the
 * one that is about to be rotated that makes `maxFiles`.
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

/** The name that a log gets when it is rotated: with the machine's local time, so that names sort by age. */
export function rotatedName(log: string, nowMs: number): string {
  const at = new Date(nowMs);
  const two = (value: number): string => String(value).padStart(2, '0');
  const date = `${at.getFullYear()}${two(at.getMonth() + 1)}${two(at.getDate())}`;
  return `${log}.${date}-${two(at.getHours())}${two(at.getMinutes())}${two(at.getSeconds())}`;
}
