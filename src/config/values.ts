/** Decodes one value of a configuration document into the typed value of its field, or reports what is wrong. */
import { type FieldPath, formatQuantity, parseDuration, parseQuantity, type Taint } from '../kube/index.js';
import { messageOf } from './config-error.js';
import { isRecord } from './config-path.js';
import type { ValueKind } from './fields.js';
import type { MemoryReservation, PodPriorityGracePeriod, VModuleEntry } from './types.js';

/** Receives the problems of one document. */
export interface DecodeSink {
  problem(path: FieldPath, text: string): void;
  unknownField(path: FieldPath, siblings: readonly string[]): void;
}

/** Booleans of YAML 1.1, which the reference accepts too. */
const yamlBooleans: ReadonlyMap<string, boolean> = new Map([
  ['yes', true],
  ['on', true],
  ['y', true],
  ['no', false],
  ['off', false],
  ['n', false],
]);

const integerRanges = {
  int32: [-(2 ** 31), 2 ** 31 - 1],
  uint32: [0, 2 ** 32 - 1],
  int64: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
} as const;

/** Decodes a value that is not null. Returns undefined after reporting a problem. */
export function decodeValue(kind: ValueKind, value: unknown, path: FieldPath, sink: DecodeSink): unknown {
  switch (kind) {
    case 'bool':
      return decodeBool(value, path, sink);
    case 'int32':
    case 'uint32':
    case 'int64':
      return decodeInteger(kind, value, path, sink);
    case 'float':
      if (typeof value === 'number' && Number.isFinite(value)) return value;
      return wrongType('a number', value, path, sink);
    case 'string':
      return decodeString(value, path, sink);
    case 'duration':
      return decodeDuration(value, path, sink);
    case 'durationOrNanos':
      if (typeof value === 'number' && Number.isInteger(value)) return value / 1e6;
      return decodeDuration(value, path, sink);
    case 'quantity':
      return decodeQuantity(value, path, sink);
    case 'stringList':
      return decodeList(value, path, sink, (item, at) => (item === null ? '' : decodeString(item, at, sink)));
    case 'int32List':
      return decodeList(value, path, sink, (item, at) => decodeInteger('int32', item ?? 0, at, sink));
    case 'stringMap':
      return decodeMap(value, path, sink, (item, at) => (item === null ? '' : decodeString(item, at, sink)));
    case 'boolMap':
      return decodeMap(value, path, sink, (item, at) => decodeBool(item ?? false, at, sink));
    case 'headerMap':
      return decodeMap(value, path, sink, (item, at) =>
        decodeList(item ?? [], at, sink, (text, textAt) => decodeString(text ?? '', textAt, sink)),
      );
    case 'taints':
      return decodeTaints(value, path, sink);
    case 'memoryReservations':
      return decodeMemoryReservations(value, path, sink);
    case 'podPriorityGracePeriods':
      return decodeGracePeriods(value, path, sink);
    case 'vmodule':
      return decodeVModule(value, path, sink);
  }
}

/** Describes a value for an error, without the content of lists and objects. */
export function describeValue(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  if (typeof value === 'string') return `the string ${JSON.stringify(value)}`;
  return `the ${typeof value} ${String(value)}`;
}

function wrongType(expected: string, value: unknown, path: FieldPath, sink: DecodeSink): undefined {
  sink.problem(path, `must be ${expected}, not ${describeValue(value)}`);
  return undefined;
}

function decodeBool(value: unknown, path: FieldPath, sink: DecodeSink): boolean | undefined {
  if (typeof value === 'boolean') return value;
  const word = typeof value === 'string' ? yamlBooleans.get(value.toLowerCase()) : undefined;
  return word ?? wrongType('true or false', value, path, sink);
}

function decodeInteger(
  kind: keyof typeof integerRanges,
  value: unknown,
  path: FieldPath,
  sink: DecodeSink,
): number | undefined {
  const [min, max] = integerRanges[kind];
  if (typeof value !== 'number' || !Number.isInteger(value)) {
    return wrongType(`a whole number (${kind})`, value, path, sink);
  }
  if (value >= min && value <= max) return value;
  sink.problem(path, `${value} does not fit ${kind} (${min} to ${max})`);
  return undefined;
}

function decodeString(value: unknown, path: FieldPath, sink: DecodeSink): string | undefined {
  return typeof value === 'string' ? value : wrongType('a string', value, path, sink);
}

function decodeDuration(value: unknown, path: FieldPath, sink: DecodeSink): number | undefined {
  if (typeof value !== 'string')
    return wrongType('a duration string such as 10s or 1m30s', value, path, sink);
  try {
    return parseDuration(value);
  } catch (thrown) {
    sink.problem(path, messageOf(thrown));
    return undefined;
  }
}

function decodeQuantity(value: unknown, path: FieldPath, sink: DecodeSink): string | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') {
    return wrongType('a quantity such as 1Gi', value, path, sink);
  }
  try {
    return formatQuantity(parseQuantity(value));
  } catch (thrown) {
    sink.problem(path, messageOf(thrown));
    return undefined;
  }
}

function decodeList<T>(
  value: unknown,
  path: FieldPath,
  sink: DecodeSink,
  decodeItem: (item: unknown, path: FieldPath) => T | undefined,
): T[] | undefined {
  if (!Array.isArray(value)) return wrongType('a list', value, path, sink);
  const items: T[] = [];
  for (const [index, item] of value.entries()) {
    const decoded = decodeItem(item, [...path, index]);
    if (decoded !== undefined) items.push(decoded);
  }
  return items;
}

function decodeMap<T>(
  value: unknown,
  path: FieldPath,
  sink: DecodeSink,
  decodeItem: (item: unknown, path: FieldPath) => T | undefined,
): Record<string, T> | undefined {
  if (!isRecord(value)) return wrongType('a map', value, path, sink);
  const entries: [string, T][] = [];
  for (const [key, item] of Object.entries(value)) {
    const decoded = decodeItem(item, [...path, key]);
    if (decoded !== undefined) entries.push([key, decoded]);
  }
  return Object.fromEntries(entries);
}

/** Returns the known members of a list item, and reports unknown ones. */
function members<K extends string>(
  value: unknown,
  path: FieldPath,
  sink: DecodeSink,
  known: readonly K[],
): Partial<Record<K, unknown>> | undefined {
  if (value === null) return {};
  if (!isRecord(value)) return wrongType('an object', value, path, sink);
  const names: readonly string[] = known;
  for (const key of Object.keys(value)) {
    if (!names.includes(key)) sink.unknownField([...path, key], known);
  }
  const found: Partial<Record<K, unknown>> = {};
  for (const key of known) if (value[key] !== undefined && value[key] !== null) found[key] = value[key];
  return found;
}

function decodeTaints(value: unknown, path: FieldPath, sink: DecodeSink): Taint[] | undefined {
  return decodeList(value, path, sink, (item, at) => {
    const found = members(item, at, sink, ['key', 'value', 'effect', 'timeAdded']);
    if (found === undefined) return undefined;
    const text = (member: unknown, name: string) => decodeString(member ?? '', [...at, name], sink) ?? '';
    const taint: Taint = { key: text(found.key, 'key'), effect: text(found.effect, 'effect') };
    if (found.value !== undefined) taint.value = text(found.value, 'value');
    if (found.timeAdded !== undefined) taint.timeAdded = text(found.timeAdded, 'timeAdded');
    return taint;
  });
}

function decodeMemoryReservations(
  value: unknown,
  path: FieldPath,
  sink: DecodeSink,
): MemoryReservation[] | undefined {
  return decodeList(value, path, sink, (item, at) => {
    const found = members(item, at, sink, ['numaNode', 'limits']);
    if (found === undefined) return undefined;
    const limits = decodeMap(found.limits ?? {}, [...at, 'limits'], sink, (amount, amountAt) =>
      decodeQuantity(amount ?? 0, amountAt, sink),
    );
    return {
      numaNode: decodeInteger('int32', found.numaNode ?? 0, [...at, 'numaNode'], sink) ?? 0,
      limits: limits ?? {},
    };
  });
}

function decodeGracePeriods(
  value: unknown,
  path: FieldPath,
  sink: DecodeSink,
): PodPriorityGracePeriod[] | undefined {
  return decodeList(value, path, sink, (item, at) => {
    const found = members(item, at, sink, ['priority', 'shutdownGracePeriodSeconds']);
    if (found === undefined) return undefined;
    return {
      priority: decodeInteger('int32', found.priority ?? 0, [...at, 'priority'], sink) ?? 0,
      shutdownGracePeriodSeconds:
        decodeInteger(
          'int64',
          found.shutdownGracePeriodSeconds ?? 0,
          [...at, 'shutdownGracePeriodSeconds'],
          sink,
        ) ?? 0,
    };
  });
}

function decodeVModule(value: unknown, path: FieldPath, sink: DecodeSink): VModuleEntry[] | undefined {
  return decodeList(value, path, sink, (item, at) => {
    const found = members(item, at, sink, ['filePattern', 'verbosity']);
    if (found === undefined) return undefined;
    return {
      filePattern: decodeString(found.filePattern ?? '', [...at, 'filePattern'], sink) ?? '',
      verbosity: decodeInteger('uint32', found.verbosity ?? 0, [...at, 'verbosity'], sink) ?? 0,
    };
  });
}
