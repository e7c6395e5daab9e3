/** The error of a gRPC call: a status in the text form of Go's gRPC, which users know from events and logs. */
import { errorText, isCancelled, TimedOut } from '../async/index.js';

/** The status codes (gRPC, doc/statuscodes.md) by the names that appear in `rpc error: code = …`. */
export const GrpcCode = {
  OK: 0,
  Canceled: 1,
  Unknown: 2,
  InvalidArgument: 3,
  DeadlineExceeded: 4,
  NotFound: 5,
  AlreadyExists: 6,
  PermissionDenied: 7,
  ResourceExhausted: 8,
  FailedPrecondition: 9,
  Aborted: 10,
  OutOfRange: 11,
  Unimplemented: 12,
  Internal: 13,
  Unavailable: 14,
  DataLoss: 15,
  Unauthenticated: 16,
} as const;
export type GrpcCodeName = keyof typeof GrpcCode;
export type GrpcCode = (typeof GrpcCode)[GrpcCodeName];

// Object.entries widens the keys to string; they are exactly the names above.
const names = new Map<number, GrpcCodeName>(
  Object.entries(GrpcCode).map(([name, code]) => [code, name as GrpcCodeName]),
);

export function grpcCodeName(code: number): GrpcCodeName | undefined {
  return names.get(code);
}

export class GrpcError extends Error {
  override readonly name: string = 'GrpcError';
  readonly code: GrpcCode;
  readonly codeName: GrpcCodeName;
  /** The message of the status, without the `rpc error` prefix. */
  readonly details: string;

  constructor(codeName: GrpcCodeName, details: string, options?: ErrorOptions & { message?: string }) {
    super(options?.message ?? `rpc error: code = ${codeName} desc = ${details}`, options);
    this.code = GrpcCode[codeName];
    this.codeName = codeName;
    this.details = details;
  }
}

/** Makes an error of a numeric status. A code that is not in the table becomes Unknown (gRPC, doc/statuscodes.md). */
export function grpcErrorFromStatus(code: number, details: string, cause?: unknown): GrpcError {
  return new GrpcError(names.get(code) ?? 'Unknown', details, { cause });
}

/** Gives an error of this process the code that a gRPC server would send for it. */
export function asGrpcError(error: unknown): GrpcError {
  if (error instanceof GrpcError) return error;
  if (error instanceof TimedOut)
    return new GrpcError('DeadlineExceeded', 'context deadline exceeded', { cause: error });
  if (isCancelled(error)) return new GrpcError('Canceled', 'context canceled', { cause: error });
  return new GrpcError('Unknown', errorText(error), { cause: error });
}

function hasCode(error: unknown, codeName: GrpcCodeName): boolean {
  return error instanceof GrpcError && error.codeName === codeName;
}

export const isNotFound = (error: unknown): boolean => hasCode(error, 'NotFound');
export const isUnimplemented = (error: unknown): boolean => hasCode(error, 'Unimplemented');
export const isDeadlineExceeded = (error: unknown): boolean => hasCode(error, 'DeadlineExceeded');
export const isUnavailable = (error: unknown): boolean => hasCode(error, 'Unavailable');
