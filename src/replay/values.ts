/** Values as a record holds them: JSON, with a mark on what JSON has no word for. What is read back is hostile. */
import { Cancelled, ChannelClosed, TimedOut } from '../async/index.js';
import { type CriCodeName, CriError } from '../cri/index.js';
import { HostError } from '../host/index.js';
import { ApiError, ApiUnreachable } from '../kube-client/index.js';
import { recordLimits } from './limits.js';
import { RecordProblem } from './record-problem.js';

type Marked = Readonly<Record<string, unknown>>;

/** The value as JSON can hold it; functions are left out. A value without marks is returned as it is, not copied. */
export function toJson(value: unknown, depth = 0): unknown {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0) ? value : { $f: numberText(value) };
    case 'bigint':
      return { $n: String(value) };
    case 'object':
      return value === null ? null : objectToJson(value, depth);
    default:
      return { $u: 1 };
  }
}

function objectToJson(value: object, depth: number): unknown {
  if (depth > recordLimits.valueDepth) return { $u: 1 };
  if (Array.isArray(value)) return arrayToJson(value, depth);
  if (value instanceof Uint8Array)
    return { $b: Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64') };
  if (value instanceof Date) return { $d: value.getTime() };
  if (value instanceof Map) return { $m: arrayToJson([...value], depth) };
  if (value instanceof Set) return { $s: arrayToJson([...value], depth) };
  if (value instanceof Error) return { $e: errorToJson(value, depth) };
  // Any object: its own properties are all that counts.
  const from = value as Readonly<Record<string, unknown>>;
  const names = Object.keys(from);
  // Names that could be taken for marks, or mean something to JavaScript, are written as pairs.
  if (names.some((name) => name.startsWith('$') || name === '__proto__'))
    return { $o: pairsToJson(from, depth) };
  let copy: Record<string, unknown> | undefined;
  for (const [index, name] of names.entries()) {
    const each = from[name];
    const type = typeof each;
    const kept =
      type === 'string' || type === 'boolean'
        ? each
        : type === 'function' || type === 'undefined'
          ? undefined
          : toJson(each, depth + 1);
    if (kept !== each && copy === undefined) {
      copy = {};
      for (const earlier of names.slice(0, index)) copy[earlier] = from[earlier];
    }
    if (copy !== undefined && kept !== undefined) copy[name] = kept;
  }
  return copy ?? value;
}

function pairsToJson(from: Readonly<Record<string, unknown>>, depth: number): [string, unknown][] {
  return Object.entries(from)
    .filter(([, each]) => typeof each !== 'function' && each !== undefined)
    .map(([name, each]) => [name, toJson(each, depth + 1)]);
}

function arrayToJson(values: readonly unknown[], depth: number): unknown[] {
  return values.map((each) => toJson(each, depth + 1));
}

function numberText(value: number): string {
  return Object.is(value, -0) ? '-0' : String(value);
}

function errorToJson(error: Error, depth: number): Marked {
  const { name, message, cause } = error;
  const facts = toJson({ ...error, name: undefined, cause: undefined }, depth + 1);
  return {
    name,
    message,
    facts,
    ...(cause === undefined ? {} : { cause: toJson(cause, depth + 1) }),
  };
}

/** The value of parsed JSON, with its marks read. */
export function fromJson(json: unknown, depth = 0): unknown {
  if (typeof json !== 'object' || json === null) return json;
  if (depth > 2 * recordLimits.valueDepth) throw new RecordProblem('a value is nested too deeply');
  if (Array.isArray(json)) return json.map((each) => fromJson(each, depth + 1));
  const entries = Object.entries(json);
  const [only] = entries;
  if (entries.length === 1 && only?.[0].startsWith('$')) return unmarked(only[0], only[1], depth);
  return objectOf(entries, depth);
}

/** Makes own properties only, whatever their names are. */
function objectOf(entries: readonly (readonly [string, unknown])[], depth: number): object {
  const made = {};
  for (const [name, value] of entries)
    Object.defineProperty(made, name, {
      value: fromJson(value, depth + 1),
      enumerable: true,
      writable: true,
      configurable: true,
    });
  return made;
}

function unmarked(mark: string, json: unknown, depth: number): unknown {
  switch (mark) {
    case '$u':
      return undefined;
    case '$f':
      return Number(json);
    case '$n':
      if (typeof json === 'string' && /^-?\d{1,40}$/.test(json)) return BigInt(json);
      break;
    case '$b':
      // A copy of its own: a small Buffer is a part of a larger one.
      if (typeof json === 'string') return Uint8Array.from(Buffer.from(json, 'base64'));
      break;
    case '$d':
      if (typeof json === 'number') return new Date(json);
      break;
    case '$m':
      return new Map(
        pairs(json).map(([key, value]) => [fromJson(key, depth + 1), fromJson(value, depth + 1)]),
      );
    case '$s':
      if (Array.isArray(json)) return new Set(json.map((each) => fromJson(each, depth + 1)));
      break;
    case '$o':
      return objectOf(
        pairs(json).map(([name, value]) => [String(name), value]),
        depth,
      );
    case '$e':
      return errorOf(fromJson(json, depth + 1));
  }
  throw new RecordProblem(`a value has the mark ${mark.slice(0, 8)} with content that it cannot have`);
}

function pairs(json: unknown): [unknown, unknown][] {
  if (!Array.isArray(json)) throw new RecordProblem('a value has a list of pairs that is none');
  return json.map((pair: unknown) => {
    if (!Array.isArray(pair) || pair.length !== 2) throw new RecordProblem('a value has a pair that is none');
    return [pair[0], pair[1]];
  });
}

/** The classes of errors that the kubelet tells apart. Any other becomes a plain error of its name. */
function errorOf(read: unknown): Error {
  const { name, message, facts, cause } = errorFields(read);
  const options = cause === undefined ? undefined : { cause };
  const error = madeError(name, message, facts, options);
  for (const [key, value] of Object.entries(facts))
    if (!(key in error))
      Object.defineProperty(error, key, { value, enumerable: true, writable: true, configurable: true });
  return error;
}

function madeError(
  name: string,
  message: string,
  facts: Readonly<Record<string, unknown>>,
  options: ErrorOptions | undefined,
): Error {
  switch (name) {
    case 'GrpcError':
    case 'CriError': {
      const details = typeof facts.details === 'string' ? facts.details : message;
      // The constructor takes a name that it does not know as it is.
      return new CriError(String(facts.codeName ?? 'Unknown') as CriCodeName, details, {
        ...options,
        message,
      });
    }
    case 'ApiError': {
      const error = new ApiError({
        code: typeof facts.code === 'number' ? facts.code : 500,
        message,
        reason: String(facts.reason ?? ''),
      });
      return Object.assign(error, {
        details: facts.details,
        retryAfterSeconds: facts.retryAfterSeconds,
      });
    }
    case 'ApiUnreachable':
      return new ApiUnreachable(message, facts.unanswered === 'not-sent' ? 'not-sent' : 'unknown', options);
    case 'HostError':
      return new HostError(String(facts.code ?? 'EIO'), String(facts.path ?? ''), message, options);
    case 'Cancelled':
      return new Cancelled(message, options);
    case 'TimedOut':
      return new TimedOut(message, options);
    case 'ChannelClosed':
      return new ChannelClosed(message);
    default:
      return Object.defineProperty(new Error(message, options), 'name', { value: name });
  }
}

function errorFields(read: unknown): {
  name: string;
  message: string;
  facts: Readonly<Record<string, unknown>>;
  cause: unknown;
} {
  if (typeof read !== 'object' || read === null) throw new RecordProblem('an error has no fields');
  const fields = read as Readonly<Record<string, unknown>>;
  const { name, message, facts, cause } = fields;
  return {
    name: typeof name === 'string' ? name : 'Error',
    message: typeof message === 'string' ? message : '',
    // Read by `fromJson`: any object is a record of its own properties.
    facts: typeof facts === 'object' && facts !== null ? (facts as Readonly<Record<string, unknown>>) : {},
    cause,
  };
}
