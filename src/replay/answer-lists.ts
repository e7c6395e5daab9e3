/**
 * Answers that are lists of things with ids, as runtimes give them: a record has only the members that are new, and the places
 * of the others in the last answer. Runtimes list in any order, and mostly nothing has changed.
 */
import { textBytes } from '../async/index.js';
import { toJson } from './values.js';

/** A list in a record: the one field of the answer, and for each member its place in the last answer, or itself. */
export interface ListChange {
  readonly n: string;
  readonly d: readonly unknown[];
}

/** An answer whose only field is a list of things with ids. */
export interface ListAnswer {
  readonly field: string;
  readonly members: readonly (Readonly<Record<string, unknown>> & { readonly id: string })[];
}

export function listAnswer(answer: unknown): ListAnswer | undefined {
  if (!isData(answer) || Array.isArray(answer)) return undefined;
  let field: string | undefined;
  for (const name in answer) {
    if (field !== undefined) return undefined;
    field = name;
  }
  const members = field === undefined ? undefined : answer[field];
  if (field === undefined || !Array.isArray(members) || members.length === 0) return undefined;
  for (const member of members) if (!isData(member) || typeof member.id !== 'string') return undefined;
  return { field, members };
}

interface KeptMember {
  /** Its place in the answer. */
  readonly place: number;
  /** A copy: what the kubelet does to an answer is nobody's news. */
  readonly copy: unknown;
  readonly bytes: number;
}

/** A list as it was answered last. */
export interface KeptList {
  readonly field: string;
  readonly members: ReadonlyMap<string, KeptMember>;
  readonly bytes: number;
}

interface ChangeOfList {
  /** Undefined for the same list in the same order. */
  readonly change: ListChange | undefined;
  /** Whether more has changed than the order. */
  readonly isNews: boolean;
  readonly kept: KeptList;
}

/** What is new in a list, and what is to be kept of it; undefined for a list that has to be written as any other answer. */
export function changeOfList(
  { field, members }: ListAnswer,
  before: KeptList | undefined,
): ChangeOfList | undefined {
  const known = before?.field === field ? before.members : undefined;
  if (before !== undefined && known?.size === members.length && isSameInPlace(members, known))
    return { change: undefined, isNews: false, kept: before };
  const kept = new Map<string, KeptMember>();
  const parts: unknown[] = [];
  let bytes = 0;
  for (const [place, member] of members.entries()) {
    const old = known?.get(member.id);
    let next: KeptMember;
    if (old !== undefined && isSameData(old.copy, member)) {
      parts.push(old.place);
      next = old.place === place ? old : { ...old, place };
    } else {
      const copy = copyOf(member, 0);
      if (copy === undefined) return undefined;
      const json = toJson(member);
      parts.push(json);
      next = { place, copy, bytes: textBytes(JSON.stringify(json)) };
    }
    kept.set(member.id, next);
    bytes += next.bytes;
  }
  // An id that is there twice.
  if (kept.size !== members.length) return undefined;
  const isNews = members.length !== known?.size || parts.some((part) => typeof part !== 'number');
  return { change: { n: field, d: parts }, isNews, kept: { field, members: kept, bytes } };
}

function isSameInPlace(members: ListAnswer['members'], known: ReadonlyMap<string, KeptMember>): boolean {
  let place = 0;
  // A map has its entries in the order of the list.
  for (const { copy } of known.values()) if (!isSameData(copy, members[place++])) return false;
  return true;
}

const deepest = 16;

/** A copy of plain data; undefined for anything else. */
function copyOf(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return isPlainValue(value) ? value : undefined;
  if (depth > deepest || !isData(value)) return undefined;
  if (Array.isArray(value)) {
    const list: unknown[] = [];
    for (const each of value) {
      const copy = copyOf(each, depth + 1);
      if (copy === undefined) return undefined;
      list.push(copy);
    }
    return list;
  }
  const copies: Record<string, unknown> = {};
  for (const name in value) {
    const each = value[name];
    if (each === undefined) continue;
    const copy = name === '__proto__' ? undefined : copyOf(each, depth + 1);
    if (copy === undefined) return undefined;
    copies[name] = copy;
  }
  return copies;
}

function isPlainValue(value: unknown): boolean {
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'bigint':
      return true;
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0);
    default:
      return value === null;
  }
}

/** Whether a value has the content of a copy. Fields may come in any order: maps of runtimes have none. */
function isSameData(copy: unknown, value: unknown): boolean {
  if (copy === value) return !Object.is(value, -0);
  if (typeof copy !== 'object' || typeof value !== 'object' || copy === null || value === null) return false;
  if (!isData(value) || Array.isArray(copy) !== Array.isArray(value)) return false;
  // Both are lists, or records of their own fields.
  const old = copy as Readonly<Record<string, unknown>>;
  let fields = 0;
  for (const name in value) {
    const each = value[name];
    if (each === undefined) continue;
    if (!isSameData(old[name], each)) return false;
    fields++;
  }
  for (const _ in old) fields--;
  return fields === 0;
}

/** An object that is only its own fields, or a list. */
function isData(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** A list as a replay keeps it: the texts of its members. */
export interface ListTexts {
  readonly field: string;
  readonly texts: readonly string[];
}

/** The list that a change of the last one makes; undefined where it names a member that the last one does not have. */
export function changedList({ n, d }: ListChange, before: ListTexts | undefined): ListTexts | undefined {
  const known = before?.field === n ? before.texts : [];
  const texts: string[] = [];
  for (const part of d) {
    const text = typeof part === 'number' ? known[part] : JSON.stringify(part);
    if (text === undefined) return undefined;
    texts.push(text);
  }
  return { field: n, texts };
}

/** The answer that it was. */
export function listOfTexts({ field, texts }: ListTexts): unknown {
  return { [field]: texts.map((text) => JSON.parse(text)) };
}

export function isListChange(json: unknown): json is ListChange {
  if (typeof json !== 'object' || json === null || !('n' in json) || !('d' in json)) return false;
  const { n, d } = json;
  if (typeof n !== 'string' || n === '__proto__' || !Array.isArray(d)) return false;
  return d.every((part) => Number.isSafeInteger(part) || (typeof part === 'object' && part !== null));
}
