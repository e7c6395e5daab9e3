/** Container log records: one line each, as a runtime writes them. */
import { parseTimestampNanos } from '../../kube/index.js';

export type LogStream = 'stdout' | 'stderr';

export interface LogRecord {
  readonly timestampNs: bigint;
  /** The time as written. */
  readonly timestamp: string;
  readonly stream: LogStream;
  /** Includes the newline, unless the record is a partial line. Any bytes: logs need not be text. */
  readonly content: Buffer;
}

export type LogFormat = 'cri' | 'docker';

const space = 0x20;
const newline = 0x0a;

/** Detects a file's format from its first line; undefined when it is neither. */
export function detectFormat(line: Buffer): LogFormat | undefined {
  if (parseCriLine(line) !== undefined) return 'cri';
  if (parseDockerLine(line) !== undefined) return 'docker';
  return undefined;
}

/** `line` includes its newline, if the file has one; undefined when it is not a record of the format. */
export function parseLogLine(format: LogFormat, line: Buffer): LogRecord | undefined {
  return format === 'cri' ? parseCriLine(line) : parseDockerLine(line);
}

/** `<time> <stream> <tags> <content>`; the first tag is F for a full line or P for a partial one. */
function parseCriLine(line: Buffer): LogRecord | undefined {
  const timeEnd = line.indexOf(space);
  const streamEnd = timeEnd < 0 ? -1 : line.indexOf(space, timeEnd + 1);
  const tagsEnd = streamEnd < 0 ? -1 : line.indexOf(space, streamEnd + 1);
  if (tagsEnd < 0) return undefined;
  const timestamp = line.toString('latin1', 0, timeEnd);
  const timestampNs = parseTimestampNanos(timestamp);
  const stream = line.toString('latin1', timeEnd + 1, streamEnd);
  if (timestampNs === undefined || (stream !== 'stdout' && stream !== 'stderr')) return undefined;
  // Ignore tags after the first: none are defined today.
  const [tag] = line.toString('latin1', streamEnd + 1, tagsEnd).split(':', 1);
  const end = tag === 'P' && line[line.length - 1] === newline ? line.length - 1 : line.length;
  return { timestampNs, timestamp, stream, content: line.subarray(tagsEnd + 1, end) };
}

/** `{"log": …, "stream": …, "time": …}` */
function parseDockerLine(line: Buffer): LogRecord | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line.toString('utf8'));
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  if (!('log' in value) || !('stream' in value) || !('time' in value)) return undefined;
  const { log, stream, time } = value;
  if (typeof log !== 'string' || typeof time !== 'string' || (stream !== 'stdout' && stream !== 'stderr'))
    return undefined;
  const timestampNs = parseTimestampNanos(time);
  if (timestampNs === undefined) return undefined;
  return { timestampNs, timestamp: time, stream, content: Buffer.from(log) };
}

/** A record's time with exactly nine fractional digits, in the zone it was written with. */
export function formatRecordTime(timestamp: string): string {
  const match = /^(.*?)(?:\.(\d+))?(Z|z|[+-]\d{2}:\d{2})$/.exec(timestamp);
  if (match === null) return timestamp;
  const [, seconds = '', fraction = '', zone = ''] = match;
  const written = /^(?:z|[+-]00:00)$/.test(zone) ? 'Z' : zone;
  return `${seconds}.${fraction.padEnd(9, '0').slice(0, 9)}${written}`;
}
