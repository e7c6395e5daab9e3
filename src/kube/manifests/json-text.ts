/** Parses untrusted JSON: bounded in length and depth, with field positions and duplicate keys. */
import { maxDepth } from './document-limits.js';

/**
 * Text that is not JSON, or exceeds a limit. The message never quotes the text, which may contain secrets.
 */
export class JsonProblem extends Error {
  override readonly name = 'JsonProblem';
}

export interface JsonTextLimits {
  readonly maxLength?: number;
  readonly maxDepth?: number;
  readonly maxTokens?: number;
}

/** As `JSON.parse`, for untrusted text: bounds the depth, so that callers may recurse. Throws JsonProblem. */
export function parseJson(text: string, limits: JsonTextLimits = {}): unknown {
  const {
    maxLength = Number.POSITIVE_INFINITY,
    maxDepth: deepest = maxDepth,
    maxTokens = Number.POSITIVE_INFINITY,
  } = limits;
  if (text.length > maxLength) throw new JsonProblem(`has more than ${maxLength} characters`);
  // Shorter texts have no room for more levels, each of which takes two characters.
  if (text.length > Math.min(2 * deepest, maxTokens)) {
    const { values, tooDeepAt } = measureJson(text, deepest);
    if (tooDeepAt !== undefined) throw new JsonProblem(`is nested more than ${deepest} levels deep`);
    if (values > maxTokens) throw new JsonProblem(`has more than ${maxTokens} values`);
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new JsonProblem('is not JSON');
  }
}

export interface JsonMeasure {
  readonly values: number;
  /** Strings followed by a colon. */
  readonly keys: number;
  /** Where the first level beyond the limit begins; nothing after it is measured. */
  readonly tooDeepAt: number | undefined;
}

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const openList = 0x5b;
const closeList = 0x5d;
const openObject = 0x7b;
const closeObject = 0x7d;

/** Measures a text, JSON or not, without parsing it. */
export function measureJson(text: string, deepest: number): JsonMeasure {
  let depth = 0;
  let values = 1;
  let keys = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case quote:
        at = endOfString(text, at) - 1;
        break;
      case comma:
        values++;
        break;
      case colon:
        keys++;
        break;
      case openList:
      case openObject:
        values++;
        depth++;
        if (depth > deepest) return { values, keys, tooDeepAt: at };
        break;
      case closeList:
      case closeObject:
        depth--;
        break;
    }
  }
  return { values, keys, tooDeepAt: undefined };
}

/** The fields around an offset, outermost first. */
export function jsonPathAt(text: string, offset: number): (string | number)[] {
  const path: (string | number)[] = [];
  let key: string | undefined;
  for (let at = 0; at < offset; at++) {
    switch (text.charCodeAt(at)) {
      case quote: {
        const end = endOfString(text, at);
        key = unquoted(text.slice(at, end));
        at = end - 1;
        break;
      }
      case openList:
        if (path.length > 0 && key !== undefined) path[path.length - 1] = key;
        path.push(0);
        key = undefined;
        break;
      case openObject:
        if (path.length > 0 && key !== undefined) path[path.length - 1] = key;
        path.push('');
        key = undefined;
        break;
      case closeList:
      case closeObject:
        path.pop();
        key = undefined;
        break;
      case comma: {
        const last = path.at(-1);
        if (typeof last === 'number') path[path.length - 1] = last + 1;
        key = undefined;
        break;
      }
    }
  }
  if (path.length > 0 && key !== undefined) path[path.length - 1] = key;
  return path;
}

/**
 * Finds the positions of fields in a JSON text, or of their nearest ancestors. Walks each object and list
 * once.
 */
export function jsonPlaces(text: string): (path: readonly (string | number)[]) => number {
  const members = remembered((object) => membersOf(text, object));
  const items = remembered((list) => itemsOf(text, list));
  const root = skipSpace(text, 0);
  return (path) => {
    let place: JsonOffsets = { offset: root, value: root };
    for (const part of path) {
      const opening = text.charCodeAt(place.value);
      const inner: JsonOffsets | undefined =
        typeof part === 'string' && opening === openObject
          ? members(place.value).get(part)
          : typeof part === 'number' && opening === openList
            ? items(place.value)[part]
            : undefined;
      if (inner === undefined) return place.offset;
      place = inner;
    }
    return place.offset;
  };
}

interface JsonOffsets {
  /** The offset of the key, or of the item. */
  readonly offset: number;
  readonly value: number;
}

function remembered<T>(read: (offset: number) => T): (offset: number) => T {
  const known = new Map<number, T>();
  return (offset) => {
    const before = known.get(offset);
    if (before !== undefined) return before;
    const found = read(offset);
    known.set(offset, found);
    return found;
  };
}

/** The last of two equal names counts. */
function membersOf(text: string, object: number): ReadonlyMap<string, JsonOffsets> {
  const found = new Map<string, JsonOffsets>();
  for (let at = skipSpace(text, object + 1); text.charCodeAt(at) === quote; ) {
    const end = endOfString(text, at);
    const value = skipSpace(text, skipSpace(text, end) + 1);
    found.set(unquoted(text.slice(at, end)), { offset: at, value });
    at = afterComma(text, value);
  }
  return found;
}

function itemsOf(text: string, list: number): readonly JsonOffsets[] {
  const found: JsonOffsets[] = [];
  for (let at = skipSpace(text, list + 1); at < text.length && text.charCodeAt(at) !== closeList; ) {
    found.push({ offset: at, value: at });
    at = afterComma(text, at);
  }
  return found;
}

/** The offset after the value and its comma. */
function afterComma(text: string, value: number): number {
  const end = skipSpace(text, endOfValue(text, value));
  return text.charCodeAt(end) === comma ? skipSpace(text, end + 1) : end;
}

function endOfValue(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case quote:
        at = endOfString(text, at) - 1;
        if (depth === 0) return at + 1;
        break;
      case openList:
      case openObject:
        depth++;
        break;
      case closeList:
      case closeObject:
        if (depth <= 1) return depth === 1 ? at + 1 : at;
        depth--;
        break;
      case comma:
        if (depth === 0) return at;
        break;
    }
  }
  return text.length;
}

/** The keys that appear twice in one object, at their second position. The text must be JSON. */
export function duplicateJsonKeys(text: string, limit: number): { key: string; offset: number }[] {
  const found: { key: string; offset: number }[] = [];
  const open: Set<string>[] = [];
  for (let at = 0; at < text.length && found.length < limit; at++) {
    switch (text.charCodeAt(at)) {
      case quote: {
        const end = endOfString(text, at);
        if (text.charCodeAt(skipSpace(text, end)) === colon) {
          const key = unquoted(text.slice(at, end));
          const seen = open.at(-1);
          if (seen?.has(key)) found.push({ key, offset: at });
          seen?.add(key);
        }
        at = end - 1;
        break;
      }
      case openList:
      case openObject:
        open.push(new Set());
        break;
      case closeList:
      case closeObject:
        open.pop();
        break;
    }
  }
  return found;
}

/** The offset after the closing quote, or the end of the text when there is none. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    if (!isEscaped(text, end)) return end + 1;
  }
  return text.length;
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (text[at - 1 - backslashes] === '\\') backslashes++;
  return backslashes % 2 === 1;
}

function unquoted(literal: string): string {
  if (!literal.includes('\\')) return literal.slice(1, -1);
  try {
    return String(JSON.parse(literal));
  } catch {
    return literal.slice(1, -1);
  }
}

function skipSpace(text: string, start: number): number {
  let at = start;
  while (isJsonSpace(text.charCodeAt(at))) at++;
  return at;
}

function isJsonSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}
