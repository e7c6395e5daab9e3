/** Parses the text of the kubelet's flags: each function throws an error that says why a text is not a value. */
import { isIP } from 'node:net';
import { parseBool } from '../flags/index.js';
import { formatQuantity, parseQuantity, type Taint } from '../kube/index.js';
import { labelKeyProblems, labelValueProblems } from './label-syntax.js';
import type { MemoryReservation, VModuleEntry } from './types.js';

export type VersionRequest = { readonly print: boolean; readonly raw: boolean; readonly reported: string };

/** Undefined for an empty text, which leaves the setting as it is. */
export function parseIp(text: string): string | undefined {
  if (text === '') return undefined;
  if (isIP(text) === 0) throw new Error(`"${text}" is not a valid IP address`);
  return text;
}

/** `NAME=true,OTHER=false`. */
export function parseBoolMap(text: string): Record<string, boolean> {
  return Object.fromEntries(parsePairs(text, '=').map(([key, value]) => [key, parseBoolOf(key, value)]));
}

function parseBoolOf(key: string, text: string): boolean {
  try {
    return parseBool(text);
  } catch (cause) {
    throw new Error(`invalid value of ${key}: ${text}; write true or false`, { cause });
  }
}

const int32Min = -(2n ** 31n);
const int32Max = 2n ** 31n - 1n;

export const parseInt32 = (text: string): number => parseInteger(text, int32Min, int32Max);
export const parseUint32 = (text: string): number => parseInteger(text, 0n, 2n ** 32n - 1n);
/** Accepts only integers that a number holds exactly. */
export const parseInt64 = (text: string): number =>
  parseInteger(text, BigInt(Number.MIN_SAFE_INTEGER), BigInt(Number.MAX_SAFE_INTEGER));

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

export function parseFloatText(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) throw new Error(`"${text}" is not a number`);
  return value;
}

/** One line of comma-separated values; a value in double quotes may hold commas. */
export function parseCommaList(text: string): string[] {
  if (text === '') return [];
  const items: string[] = [];
  const item = /"((?:[^"]|"")*)"(?=,|$)|([^",]*)(?=,|$)/y;
  for (;;) {
    const match = item.exec(text);
    if (match === null) throw new Error('a double quote is missing or misplaced');
    const [, quoted, plain = ''] = match;
    items.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (item.lastIndex >= text.length) return items;
    item.lastIndex++;
    if (item.lastIndex === text.length) return [...items, ''];
  }
}

/** `a=1,b=2`. Skips empty parts, and trims keys and values. */
export function parsePairs(text: string, separator: string): [string, string][] {
  const pairs: [string, string][] = [];
  for (const part of text.split(',')) {
    if (part === '') continue;
    const at = part.indexOf(separator);
    if (at === -1) throw new Error(`malformed pair "${part}", write key${separator}value`);
    pairs.push([part.slice(0, at).trim(), part.slice(at + 1).trim()]);
  }
  return pairs;
}

export function parseHeaders(text: string): Record<string, string[]> {
  let headers: Record<string, unknown> = {};
  for (const [name, value] of parsePairsMasked(text)) headers = joinHeaders(headers, { [name]: [value] });
  return headers as Record<string, string[]>; // joinHeaders keeps every value a list of strings
}

/** Header values are secret, so the error does not repeat a malformed pair. */
function parsePairsMasked(text: string): [string, string][] {
  if (text.split(',').some((part) => part !== '' && !part.includes(':'))) {
    throw new Error('malformed pair, write name:value');
  }
  return parsePairs(text, ':');
}

export function joinHeaders(
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

/** `key=value,key`; a key without `=` has an empty value. */
export function parseLabels(text: string): Record<string, string> {
  const labels: [string, string][] = [];
  for (const part of text.split(',')) {
    if (part === '') continue;
    const at = part.indexOf('=');
    labels.push(at === -1 ? [part.trim(), ''] : [part.slice(0, at).trim(), part.slice(at + 1).trim()]);
  }
  return Object.fromEntries(labels);
}

const taintEffects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

/** `key=value:Effect` or `key:Effect`, comma-separated. Ignores parts with a trailing `-`: a new node has no taint to remove. */
export function parseTaints(text: string): Taint[] {
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
export function parseMemoryReservations(text: string): MemoryReservation[] {
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
    return { numaNode: parseInt32(node), limits: Object.fromEntries(limits) };
  });
}

export function parseVModule(text: string): VModuleEntry[] {
  return text
    .split(',')
    .filter((part) => part !== '')
    .map((part) => {
      const [filePattern = '', verbosity, ...rest] = part.split('=');
      if (verbosity === undefined || filePattern === '' || rest.length > 0) {
        throw new Error(`"${part}" does not have the pattern=N format`);
      }
      return { filePattern, verbosity: parseInteger(verbosity, 0n, int32Max) };
    });
}

export function parseVersionRequest(text: string): VersionRequest {
  if (text === 'raw') return { print: true, raw: true, reported: '' };
  if (/^v\d/.test(text)) return { print: false, raw: false, reported: text };
  return { print: parseBool(text), raw: false, reported: '' };
}
