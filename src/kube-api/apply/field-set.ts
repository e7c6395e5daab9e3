/** Sets of fields of an object, as `fieldsV1` of its managed fields writes them. */
import { isMapping } from '../../kube-client/patches/json.js';

/** A field or member of a list, and what is below it. Children are named `f:name`, `k:{"name":"x"}` or `v:"x"`. */
export interface FieldSet {
  /** Whether the set has this field itself, not only some below it. */
  readonly isOwned: boolean;
  readonly children: ReadonlyMap<string, FieldSet>;
}

export const noFields: FieldSet = { isOwned: false, children: new Map() };
export const wholeField: FieldSet = { isOwned: true, children: new Map() };

const deepest = 100;

export function isEmptySet({ isOwned, children }: FieldSet): boolean {
  return !isOwned && children.size === 0;
}

/** Without children that are empty. */
export function fieldSet(isOwned: boolean, children: Iterable<readonly [string, FieldSet]>): FieldSet {
  return { isOwned, children: new Map([...children].filter(([, child]) => !isEmptySet(child))) };
}

/** Is `a` itself when it has all of `b`. */
export function union(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmptySet(a)) return b;
  const grown: [string, FieldSet][] = [];
  for (const [name, other] of b.children) {
    const child = a.children.get(name);
    const joined = child === undefined ? other : union(child, other);
    if (joined !== child) grown.push([name, joined]);
  }
  const isOwned = a.isOwned || b.isOwned;
  if (grown.length === 0 && isOwned === a.isOwned) return a;
  return { isOwned, children: new Map([...a.children, ...grown]) };
}

export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  const common: [string, FieldSet][] = [];
  for (const [name, child] of a.children) {
    const other = b.children.get(name);
    if (other !== undefined) common.push([name, intersection(child, other)]);
  }
  return fieldSet(a.isOwned && b.isOwned, common);
}

/** Those of `a` that are not in `b`; `a` itself when these are all. */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  let isChanged = a.isOwned && b.isOwned;
  const kept: [string, FieldSet][] = [];
  for (const [name, child] of a.children) {
    const other = b.children.get(name);
    const rest = other === undefined ? child : difference(child, other);
    isChanged ||= rest !== child;
    kept.push([name, rest]);
  }
  return isChanged ? fieldSet(a.isOwned && !b.isOwned, kept) : a;
}

/** Without these fields and everything below them. */
export function without(set: FieldSet, unwanted: FieldSet): FieldSet {
  const kept = [...set.children].map(([name, child]): [string, FieldSet] => {
    const other = unwanted.children.get(name);
    if (other === undefined) return [name, child];
    return [name, other.isOwned ? noFields : without(child, other)];
  });
  return fieldSet(set.isOwned, kept);
}

export function equalSets(a: FieldSet, b: FieldSet): boolean {
  if (a === b) return true;
  if (a.isOwned !== b.isOwned || a.children.size !== b.children.size) return false;
  return [...a.children].every(([name, child]) => {
    const other = b.children.get(name);
    return other !== undefined && equalSets(child, other);
  });
}

/** Sets of stored objects are read and written at each write, and seldom change. */
const readBefore = new WeakMap<object, FieldSet>();
const writtenBefore = new WeakMap<FieldSet, Readonly<Record<string, unknown>>>();

/** The set of `fieldsV1`, which nobody changes; undefined when this is no set of fields. */
export function readFieldSet(value: unknown): FieldSet | undefined {
  if (!isMapping(value)) return undefined;
  const known = readBefore.get(value);
  if (known !== undefined) return known;
  const set = readBelow(value, 0);
  if (set !== undefined) {
    readBefore.set(value, set);
    writtenBefore.set(set, value);
  }
  return set;
}

function readBelow(value: unknown, depth: number): FieldSet | undefined {
  if (!isMapping(value) || depth > deepest) return undefined;
  const children: [string, FieldSet][] = [];
  let isOwned = depth > 0 && Object.keys(value).length === 0;
  for (const [name, below] of Object.entries(value)) {
    if (name === '.') {
      isOwned = true;
      continue;
    }
    const child = readBelow(below, depth + 1);
    if (child === undefined || !/^[fkvi]:/.test(name)) return undefined;
    children.push([name, child]);
  }
  return fieldSet(isOwned, children);
}

/** As `fieldsV1`; nobody changes it. */
export function writeFieldSet(set: FieldSet): Readonly<Record<string, unknown>> {
  const known = writtenBefore.get(set);
  if (known !== undefined) return known;
  const written = writeBelow(set);
  writtenBefore.set(set, written);
  return written;
}

function writeBelow({ isOwned, children }: FieldSet): Record<string, unknown> {
  const own: [string, unknown][] = isOwned && children.size > 0 ? [['.', {}]] : [];
  const sorted = [...children].sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries([
    ...own,
    ...sorted.map(([name, child]): [string, unknown] => [name, writeBelow(child)]),
  ]);
}

/** Each field as people write it: `.spec.containers[name="app"].image`. */
export function fieldPaths({ isOwned, children }: FieldSet, place = ''): string[] {
  const below = [...children]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([name, child]) => fieldPaths(child, `${place}${pathElement(name)}`));
  return isOwned ? [place, ...below] : below;
}

/** As in `.spec` or `[name="app"]`. */
export function pathElement(name: string): string {
  const text = name.slice(2);
  if (name.startsWith('f:')) return `.${text}`;
  if (name.startsWith('v:')) return `[=${text}]`;
  if (!name.startsWith('k:')) return `[${text}]`;
  const keys: unknown = safeJson(text);
  if (!isMapping(keys)) return `[${text}]`;
  return `[${Object.entries(keys)
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join(',')}]`;
}

function safeJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
