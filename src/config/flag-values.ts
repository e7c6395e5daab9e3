/** Reads the text of a flag as a value of its kind, and joins repeated occurrences. */
import { isIP } from 'node:net';
import { formatQuantity, parseDuration, parseQuantity, type Taint } from '../kube/index.js';
import type { FlagKind } from './flag-table.js';
import { labelKeyProblems, labelValueProblems } from './label-syntax.js';
import type { MemoryReservation, VModuleEntry } from './types.js';

/** Flags that stand for a value when written alone. */
export function valueWhenBare(kind: FlagKind): string | undefined {
  return kind === 'bool' || kind === 'version' ? 'true' : undefined;
}

/** Throws with the reason when the text is no such value; undefined leaves the setting as it is. */
export function parseFlagValue(kind: FlagKind, text: string): unknown {
  switch (kind) {
    case 'bool':
      return parseBool(text);
    case 'int32':
      return parseInteger(text, -(2n ** 31n), 2n ** 31n - 1n);
    case 'int64':
      return parseInteger(text, BigInt(Number.MIN_SAFE_INTEGER), BigInt(Number.MAX_SAFE_INTEGER));
    case 'uint32':
      return parseInteger(text, 0n, 2n ** 32n - 1n);
    case 'float':
      return parseFloatText(text);
    case 'string':
      return text;
    case 'duration':
    case 'durationOrNanos':
      return parseDuration(text);
    case 'quantity':
      return formatQuantity(parseQuantity(text));
    case 'ip':
      if (text === '') return undefined;
      if (isIP(text) === 0) throw new Error(`"${text}" is not a valid IP address`);
      return text;
    case 'stringList':
      return parseCommaList(text);
    case 'int32List':
      return parseCommaList(text).map((item) => parseInteger(item, -(2n ** 31n), 2n ** 31n - 1n));
    case 'stringMap':
      return Object.fromEntries(parsePairs(text, '='));
    case 'lessThanMap':
      return Object.fromEntries(parsePairs(text, '<'));
    case 'boolMap':
      return Object.fromEntries(parsePairs(text, '=').map(([key, value]) => [key, parseBoolOf(key, value)]));
    case 'headerMap':
      return parseHeaders(text);
    case 'labels':
      return parseLabels(text);
    case 'taints':
      return parseTaints(text);
    case 'memoryReservations':
      return parseMemoryReservations(text);
    case 'podPriorityGracePeriods':
      throw new Error('can only be set in the configuration file');
    case 'vmodule':
      return parseVModule(text);
    case 'version':
      return parseVersionRequest(text);
  }
}

/** The value after another occurrence of the flag: lists and maps grow, everything else is replaced. */
export function joinOccurrences(kind: FlagKind, earlier: unknown, later: unknown): unknown {
  switch (kind) {
    case 'stringList':
    case 'int32List':
    case 'memoryReservations':
    case 'vmodule':
      return Array.isArray(earlier) && Array.isArray(later) ? [...earlier, ...later] : later;
    case 'stringMap':
    case 'lessThanMap':
    case 'boolMap':
    case 'labels':
      return isObject(earlier) && isObject(later) ? { ...earlier, ...later } : later;
    case 'headerMap':
      return isObject(earlier) && isObject(later) ? joinHeaders(earlier, later) : later;
    case 'ip':
      return later ?? earlier;
    case 'bool':
    case 'int32':
    case 'int64':
    case 'uint32':
    case 'float':
    case 'string':
    case 'duration':
    case 'durationOrNanos':
    case 'quantity':
    case 'taints':
    case 'podPriorityGracePeriods':
    case 'version':
      return later;
  }
}

export type VersionRequest = { readonly print: boolean; readonly raw: boolean; readonly reported: string };

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function parseBool(text: string): boolean {
  if (['1', 't', 'T', 'TRUE', 'true', 'True'].includes(text)) return true;
  if (['0', 'f', 'F', 'FALSE', 'false', 'False'].includes(text)) return false;
  throw new Error(`"${text}" is neither true nor false`);
}

function parseBoolOf(key: string, text: string): boolean {
  try {
    return parseBool(text);
  } catch (cause) {
    throw new Error(`invalid value of ${key}: ${text}; write true or false`, { cause });
  }
}

/** Decimal, or with the prefixes 0x, 0o, 0b or a leading 0 for octal; underscores may separate digits. */
function parseInteger(text: string, min: bigint, max: bigint): number {
  const parts = /^([+-]?)(0[xX][\da-fA-F_]+|0[bB][01_]+|0[oO]?[0-7_]+|[1-9][\d_]*|0)$/.exec(text);
  if (parts === null) throw new Error(`"${text}" is not a whole number`);
  const [, sign = '', digits = ''] = parts;
  const plain = digits.replaceAll('_', '').replace(/^0[oO]?(?=[0-7])/, '0o');
  const magnitude = BigInt(plain);
  const value = sign === '-' ? -magnitude : magnitude;
  if (value < min || value > max) throw new Error(`${text} is out of range (${min} to ${max})`);
  return Number(value);
}

function parseFloatText(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) throw new Error(`"${text}" is not a number`);
  return value;
}

/** One line of comma-separated values; a value in double quotes may hold commas. */
function parseCommaList(text: string): string[] {
  if (text === '') return [];
  const items: string[] = [];
  const item = /"((?:[^"]|"")*)"(?=,|$)|([^",]*)(?=,|$)/y;
  for (;;) {
    const match = item.exec(text);
    if (match === null) throw new Error('a value has a double quote where it should not, or one is missing');
    const [, quoted, plain = ''] = match;
    items.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (item.lastIndex >= text.length) return items;
    item.lastIndex++;
    if (item.lastIndex === text.length) return [...items, ''];
  }
}

/** `a=1,b=2`; empty parts are skipped, blanks around keys and values dropped. */
function parsePairs(text: string, separator: string): [string, string][] {
  const pairs: [string, string][] = [];
  for (const part of text.split(',')) {
    if (part === '') continue;
    const at = part.indexOf(separator);
    if (at === -1) throw new Error(`malformed pair "${part}", write key${separator}value`);
    pairs.push([part.slice(0, at).trim(), part.slice(at + 1).trim()]);
  }
  return pairs;
}

function parseHeaders(text: string): Record<string, string[]> {
  let headers: Record<string, unknown> = {};
  for (const [name, value] of parsePairsMasked(text)) headers = joinHeaders(headers, { [name]: [value] });
  return headers as Record<string, string[]>; // joinHeaders keeps every value a list of strings
}

/** Header values are secret, so a malformed pair is not repeated in the error. */
function parsePairsMasked(text: string): [string, string][] {
  if (text.split(',').some((part) => part !== '' && !part.includes(':'))) {
    throw new Error('malformed pair, write name:value');
  }
  return parsePairs(text, ':');
}

function joinHeaders(
  earlier: Record<string, unknown>,
  later: Record<string, unknown>,
): Record<string, unknown> {
  const joined = new Map(Object.entries(earlier));
  for (const [name, values] of Object.entries(later)) {
    const before = joined.get(name);
    joined.set(name, Array.isArray(before) && Array.isArray(values) ? [...before, ...values] : values);
  }
  return Object.fromEntries(joined);
}

/** `key=value,key`; a key alone has an empty value. */
function parseLabels(text: string): Record<string, string> {
  const labels: [string, string][] = [];
  for (const part of text.split(',')) {
    if (part === '') continue;
    const at = part.indexOf('=');
    labels.push(at === -1 ? [part.trim(), ''] : [part.slice(0, at).trim(), part.slice(at + 1).trim()]);
  }
  return Object.fromEntries(labels);
}

const taintEffects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

/** `key=value:Effect` or `key:Effect`, comma-separated; a trailing `-` asks for removal, which a new node has nothing to do for. */
function parseTaints(text: string): Taint[] {
  const taints: Taint[] = [];
  for (const part of text === '' ? [] : text.split(',')) {
    if (part.endsWith('-')) continue;
    const [head = '', effect, ...rest] = part.split(':');
    const [key = '', value = '', ...more] = head.split('=');
    if (rest.length > 0 || more.length > 0 || effect === undefined || effect === '') {
      throw new Error(`invalid taint spec: ${part}, write key=value:Effect`);
    }
    if (!taintEffects.includes(effect)) {
      throw new Error(`invalid taint effect: ${effect}, use ${taintEffects.join(', ')}`);
    }
    const problems = [...labelKeyProblems(key), ...labelValueProblems(value)];
    if (problems.length > 0) throw new Error(`invalid taint spec: ${part}, ${problems.join('; ')}`);
    if (taints.some((taint) => taint.key === key && taint.effect === effect)) {
      throw new Error(`duplicated taints with the same key and effect: ${key}:${effect}`);
    }
    taints.push({ key, ...(value !== '' && { value }), effect });
  }
  return taints;
}

/** `0:memory=1Gi,hugepages-1Gi=2Gi;1:memory=1Gi`. */
function parseMemoryReservations(text: string): MemoryReservation[] {
  if (text === '') return [];
  return text.split(';').map((part) => {
    const [node = '', limitsText, ...rest] = part.split(':');
    if (limitsText === undefined || rest.length > 0 || !/^-?\d+$/.test(node)) {
      throw new Error(`"${part}" is no reservation, write numaNode:type=quantity[,type=quantity...]`);
    }
    const limits = limitsText.split(',').map((pair): [string, string] => {
      const [type = '', amount, ...more] = pair.split('=');
      if (amount === undefined || more.length > 0)
        throw new Error(`"${pair}" is no limit, write type=quantity`);
      if (type !== 'memory' && !type.startsWith('hugepages-')) {
        throw new Error(`unknown memory type "${type}", use memory or hugepages-<size>`);
      }
      return [type, formatQuantity(parseQuantity(amount))];
    });
    return { numaNode: parseInteger(node, -(2n ** 31n), 2n ** 31n - 1n), limits: Object.fromEntries(limits) };
  });
}

function parseVModule(text: string): VModuleEntry[] {
  return text
    .split(',')
    .filter((part) => part !== '')
    .map((part) => {
      const [filePattern = '', verbosity, ...rest] = part.split('=');
      if (verbosity === undefined || filePattern === '' || rest.length > 0) {
        throw new Error(`"${part}" does not have the pattern=N format`);
      }
      return { filePattern, verbosity: parseInteger(verbosity, 0n, 2n ** 31n - 1n) };
    });
}

function parseVersionRequest(text: string): VersionRequest {
  if (text === 'raw') return { print: true, raw: true, reported: '' };
  if (/^v\d/.test(text)) return { print: false, raw: false, reported: text };
  return { print: parseBool(text), raw: false, reported: '' };
}
