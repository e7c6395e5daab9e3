/** Decides how a gRPC call ended from its HTTP/2 stream (gRPC over HTTP/2, Responses and Errors). */
import { type GrpcCodeName, GrpcError, grpcErrorFromStatus } from './errors.js';

/** The headers or trailers of a response, by lower-case name. */
export type ResponseHeaders = Readonly<Record<string, string | number | string[] | undefined>>;

export interface CallEnd {
  /** Named in the message of a failed connection: `unix /run/x.sock`. */
  readonly dialed: string;
  readonly headers: ResponseHeaders | undefined;
  readonly trailers: ResponseHeaders | undefined;
  /** The error code of RST_STREAM; 0 for a stream that was not reset. */
  readonly resetCode: number;
  readonly error: NodeJS.ErrnoException | undefined;
  /** Whether the time that the call was given is over. */
  readonly isLate: boolean;
}

/** The error code CANCEL of RST_STREAM (RFC 9113, section 7). */
const resetCancel = 8;

/** The error of the call; undefined when the server sent status OK. */
export function callError(end: CallEnd): GrpcError | undefined {
  const { dialed, headers, trailers, resetCode, error, isLate } = end;
  // The status is in the trailers, or in the headers of a Trailers-Only response (gRPC over HTTP/2, Responses).
  const said = trailers?.['grpc-status'] ?? headers?.['grpc-status'];
  if (said !== undefined) {
    const code = Number(said);
    if (code === 0) return undefined;
    const words = trailers?.['grpc-message'] ?? headers?.['grpc-message'] ?? '';
    return grpcErrorFromStatus(Number.isInteger(code) ? code : -1, unescapeMessage(String(words)));
  }
  const httpStatus = headers?.[':status'];
  if (httpStatus !== undefined && Number(httpStatus) !== 200) {
    const codeName = codesByHttpStatus.get(Number(httpStatus)) ?? 'Unknown';
    return new GrpcError(codeName, `unexpected HTTP status code received from server: ${httpStatus}`);
  }
  if (error !== undefined && isDialError(error)) {
    const words = dialWords.get(error.code ?? '') ?? error.message;
    const details = `connection error: desc = "transport: Error while dialing: dial ${dialed}: connect: ${words}"`;
    return new GrpcError('Unavailable', details, { cause: error });
  }
  // A server that knows the deadline cancels the stream itself, and that may be read before the timer here fires.
  if (resetCode === resetCancel && isLate) {
    return new GrpcError('DeadlineExceeded', 'context deadline exceeded', { cause: error });
  }
  if (resetCode !== 0) {
    const codeName = codesByReset.get(resetCode) ?? 'Internal';
    return new GrpcError(codeName, `stream terminated by RST_STREAM with error code: ${resetCode}`, {
      cause: error,
    });
  }
  return new GrpcError('Unavailable', 'error reading from server: EOF', { cause: error });
}

/** A name that stands for several addresses fails with the errors of all of them, and without a system call. */
function isDialError(error: NodeJS.ErrnoException): boolean {
  return error.syscall === 'connect' || error.syscall === 'getaddrinfo' || error instanceof AggregateError;
}

const dialWords = new Map([
  ['ENOENT', 'no such file or directory'],
  ['ECONNREFUSED', 'connection refused'],
  ['EACCES', 'permission denied'],
  ['EPERM', 'operation not permitted'],
]);

/** gRPC, doc/http-grpc-status-mapping.md. */
const codesByHttpStatus = new Map<number, GrpcCodeName>([
  [400, 'Internal'],
  [401, 'Unauthenticated'],
  [403, 'PermissionDenied'],
  [404, 'Unimplemented'],
  [429, 'Unavailable'],
  [502, 'Unavailable'],
  [503, 'Unavailable'],
  [504, 'Unavailable'],
]);

/** By RST_STREAM code (gRPC over HTTP/2, Errors); all others are Internal. */
const codesByReset = new Map<number, GrpcCodeName>([
  // REFUSED_STREAM
  [7, 'Unavailable'],
  // CANCEL
  [8, 'Canceled'],
  // ENHANCE_YOUR_CALM
  [11, 'ResourceExhausted'],
  // INADEQUATE_SECURITY
  [12, 'PermissionDenied'],
]);

/**
 * Decodes Percent-Encoded (gRPC over HTTP/2, Responses): UTF-8 with `%XX` for all but printable ASCII. Invalid escapes
 * stay as they are.
 */
export function unescapeMessage(text: string): string {
  if (!text.includes('%')) return text;
  const bytes: number[] = [];
  for (let at = 0; at < text.length; at++) {
    const hex = text.slice(at + 1, at + 3);
    if (text[at] === '%' && /^[0-9a-fA-F]{2}$/.test(hex)) {
      bytes.push(Number.parseInt(hex, 16));
      at += 2;
    } else bytes.push(text.charCodeAt(at) & 0xff);
  }
  return Buffer.from(bytes).toString('utf8');
}

export function escapeMessage(text: string): string {
  return text.replace(/[^ -$&-~]+/gu, (part) =>
    [...Buffer.from(part, 'utf8')]
      .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
      .join(''),
  );
}

const unitsMs: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};

/** TimeoutValue has at most eight digits, so long deadlines are sent in seconds (gRPC over HTTP/2, Requests). */
export function timeoutText(timeoutMs: number): string {
  return timeoutMs < 100_000_000 ? `${timeoutMs}m` : `${Math.ceil(timeoutMs / 1000)}S`;
}

/** The deadline of a `grpc-timeout` header; undefined when the header is absent or invalid. */
export function timeoutMsOf(header: string | string[] | undefined): number | undefined {
  const [, digits, unit] = /^(\d{1,8})([HMSmun])$/.exec(String(header ?? '')) ?? [];
  const unitMs = unitsMs[unit ?? ''];
  return digits === undefined || unitMs === undefined ? undefined : Number(digits) * unitMs;
}
