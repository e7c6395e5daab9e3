/** Parses a log request: decoding, then validation. */
import { parseTimestampNanos } from '../../kube/index.js';
import type { LogRequest } from '../../runtime-manager/logs/index.js';

export type StreamChoice = 'All' | 'Stdout' | 'Stderr';

export interface LogQuery {
  readonly request: LogRequest;
  readonly previous: boolean;
  /** Undefined when unset, which means all streams. */
  readonly stream: StreamChoice | undefined;
}

export type DecodedLogQuery =
  | { readonly kind: 'query'; readonly query: LogQuery }
  /** A value has the wrong type. */
  | { readonly kind: 'undecodable' }
  /** The types are right, but a value is not allowed. */
  | { readonly kind: 'invalid' };

/** How an unset time is written: the first moment of the year 1. */
const zeroTimeMs = -62_135_596_800_000;

export function decodeLogQuery(parameters: URLSearchParams): DecodedLogQuery {
  const numbers = {
    tailLines: integer(tailLines(parameters)),
    limitBytes: integer(parameters.get('limitBytes')),
    sinceSeconds: integer(parameters.get('sinceSeconds')),
    sinceTimeMs: time(parameters.get('sinceTime')),
  };
  if (Object.values(numbers).includes('undecodable')) return { kind: 'undecodable' };
  // No value is 'undecodable' any more.
  const given = numbers as Record<keyof typeof numbers, number | undefined>;
  const stream = parameters.get('stream') ?? undefined;
  if (!isValid(given, stream)) return { kind: 'invalid' };
  return {
    kind: 'query',
    query: {
      previous: flag(parameters, 'previous'),
      // Other values were rejected as invalid.
      stream: stream as StreamChoice | undefined,
      request: {
        follow: flag(parameters, 'follow'),
        timestamps: flag(parameters, 'timestamps'),
        ...(given.tailLines === undefined ? {} : { tailLines: given.tailLines }),
        ...(given.limitBytes === undefined ? {} : { limitBytes: given.limitBytes }),
        ...(given.sinceSeconds === undefined ? {} : { sinceSeconds: given.sinceSeconds }),
        ...(given.sinceTimeMs === undefined ? {} : { sinceTimeMs: given.sinceTimeMs }),
      },
    },
  };
}

/** The older name `tail` wins, and accepts `all`. */
function tailLines(parameters: URLSearchParams): string | null {
  const tail = parameters.get('tail');
  if (tail === null || tail === '') return parameters.get('tailLines');
  return tail === 'all' ? null : tail;
}

/** Anything but a clear no is a yes, including an empty value. */
function flag(parameters: URLSearchParams, name: string): boolean {
  const value = parameters.get(name)?.toLowerCase();
  return value !== undefined && value !== '0' && value !== 'false';
}

const largestInteger = 2n ** 63n - 1n;

function integer(value: string | null): number | undefined | 'undecodable' {
  if (value === null) return undefined;
  if (!/^[+-]?\d+$/.test(value)) return 'undecodable';
  const exact = BigInt(value.replace(/^\+/, ''));
  return exact > largestInteger || exact < -largestInteger - 1n ? 'undecodable' : Number(exact);
}

function time(value: string | null): number | undefined | 'undecodable' {
  if (value === null) return undefined;
  if (value === '' || value === 'null') return zeroTimeMs;
  const nanos = parseTimestampNanos(value);
  return nanos === undefined ? 'undecodable' : Number(nanos / 1000n) / 1000;
}

interface LogQueryValues {
  readonly tailLines: number | undefined;
  readonly limitBytes: number | undefined;
  readonly sinceSeconds: number | undefined;
  readonly sinceTimeMs: number | undefined;
}

function isValid(
  { tailLines, limitBytes, sinceSeconds, sinceTimeMs }: LogQueryValues,
  stream: string | undefined,
): boolean {
  if (tailLines !== undefined && tailLines < 0) return false;
  if (limitBytes !== undefined && limitBytes < 1) return false;
  if (sinceSeconds !== undefined && (sinceSeconds < 1 || sinceTimeMs !== undefined)) return false;
  if (stream === undefined || stream === 'All') return true;
  return (stream === 'Stdout' || stream === 'Stderr') && tailLines === undefined;
}
