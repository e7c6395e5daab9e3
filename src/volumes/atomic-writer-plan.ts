/** The decisions of an atomic write: valid paths, what changed, and which links must exist. */
import { normalize } from 'node:path/posix';
import { goQuote } from '../kube/index.js';

/** The link to the directory with the current files. */
export const dataLink = '..data';
/** The link renamed over it. */
export const newDataLink = '..data_tmp';

const pathLimit = 4096;
const nameLimit = 255;

/** What is wrong with a payload path, or undefined. */
export function payloadPathProblem(path: string): string | undefined {
  if (path === '') return `invalid path: must not be empty: ${goQuote(path)}`;
  if (path.startsWith('/')) return `invalid path: must be relative path: ${path}`;
  if (Buffer.byteLength(path) > pathLimit)
    return `invalid path: must be less than or equal to ${pathLimit} characters`;
  const names = path.split('/');
  if (names.includes('..')) return `invalid path: must not contain '..': ${path}`;
  if (names.some((name) => Buffer.byteLength(name) > nameLimit))
    return `invalid path: filenames must be less than or equal to ${nameLimit} characters`;
  const normal = normalPath(path);
  if (normal === '.') return `invalid path: must not be empty: ${goQuote(path)}`;
  // Also checks the normalized path: `./..data` would reach the writer's own names.
  if (names[0]?.startsWith('..') || normal.startsWith('..'))
    return `invalid path: must not start with '..': ${path}`;
  return undefined;
}

export function normalPath(path: string): string {
  return normalize(path).replace(/\/$/, '');
}

/** The payload by normalized path; throws at the first invalid path. */
export function normalPayload<File>(payload: ReadonlyMap<string, File>): ReadonlyMap<string, File> {
  const normal = new Map<string, File>();
  for (const [path, file] of payload) {
    const problem = payloadPathProblem(path);
    if (problem !== undefined) throw new Error(problem);
    normal.set(normalPath(path), file);
  }
  return normal;
}

/** `..2025_01_31_23_59_59.123456`, in UTC. */
export function timestampName(epochMs: number, suffix: string): string {
  const stamp = new Date(epochMs).toISOString().slice(0, 19).replace(/[-T:]/g, '_');
  return `..${stamp}.${suffix}`;
}

export function isTimestampName(name: string): boolean {
  return /^\.\.[0-9]{4}(_[0-9]{2}){5}\.[^/]+$/.test(name);
}

/** Entries of the old directory that are neither payload files nor their parent directories. */
export function entriesToRemove(
  oldEntries: readonly string[],
  payload: ReadonlyMap<string, unknown>,
): readonly string[] {
  const kept = new Set<string>();
  for (const path of payload.keys()) {
    const names = path.split('/');
    for (let length = 1; length <= names.length; length++) kept.add(names.slice(0, length).join('/'));
  }
  return oldEntries.filter((entry) => !kept.has(entry));
}

/** Whether any file is missing or has different bytes; modes and owners do not count. */
export function payloadDiffers(
  payload: ReadonlyMap<string, { readonly data: Uint8Array | string }>,
  old: ReadonlyMap<string, Uint8Array>,
): boolean {
  for (const [path, { data }] of payload) {
    const there = old.get(path);
    if (there === undefined || !Buffer.from(data).equals(there)) return true;
  }
  return false;
}

/** The top-level names of the volume, each with a payload path below it. */
export function topLevelNames(payload: ReadonlyMap<string, unknown>): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const path of payload.keys()) {
    const [name = path] = path.split('/');
    if (!names.has(name)) names.set(name, path);
  }
  return names;
}

/** The target of a top-level link. */
export function linkTarget(name: string): string {
  return `${dataLink}/${name}`;
}

export interface RootPlan {
  /** Names with no entry yet. */
  readonly links: readonly string[];
  /** The writer's links to files that no longer exist. */
  readonly staleLinks: readonly string[];
  /** Directories of earlier writes, complete or not. */
  readonly staleDirectories: readonly string[];
}

/** The changes to the volume's root. `targets` are its links that may be this writer's. */
export function planRoot(
  entries: readonly string[],
  targets: ReadonlyMap<string, string>,
  wanted: ReadonlyMap<string, unknown>,
  currentDirectory: string,
): RootPlan {
  const present = new Set(entries);
  return {
    links: [...wanted.keys()].filter((name) => !present.has(name)),
    staleLinks: entries.filter((name) => !wanted.has(name) && targets.get(name) === linkTarget(name)),
    staleDirectories: entries.filter((name) => isTimestampName(name) && name !== currentDirectory),
  };
}
