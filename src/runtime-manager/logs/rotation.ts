/** The files beside a log: their names, and what a rotation does to them. */

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

/** More than a node keeps of a container; a pod that can write beside its log may leave any number. */
const mostRotated = 100;
const rotatedSuffix = /^\.\d{8}-\d{6}(?:\.gz)?$/;

/** The rotated files of the log, newest first, each in one form: a file that is being compressed exists twice for a moment. */
export function rotatedFiles(log: string, names: readonly string[]): readonly string[] {
  const all = new Set(names);
  return names
    .filter((name) => name.startsWith(log) && rotatedSuffix.test(name.slice(log.length)))
    .filter((name) => !all.has(`${name}.gz`))
    .sort()
    .reverse()
    .slice(0, mostRotated);
}
