/** The error of a CRI call: a gRPC status, printed the way the reference kubelet prints it into events. */

/** The gRPC status codes by the names that appear in `rpc error: code = …`. */
export const CriCode = {
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
export type CriCodeName = keyof typeof CriCode;
export type CriCode = (typeof CriCode)[CriCodeName];

// Object.entries widens the keys to string; they are exactly the names above.
const NAMES = new Map<number, CriCodeName>(
  Object.entries(CriCode).map(([name, code]) => [code, name as CriCodeName]),
);

export function criCodeName(code: number): CriCodeName | undefined {
  return NAMES.get(code);
}

export class CriError extends Error {
  override readonly name: string = 'CriError';
  readonly code: CriCode;
  readonly codeName: CriCodeName;
  /** What the runtime said, without the `rpc error` prefix. */
  readonly details: string;

  constructor(codeName: CriCodeName, details: string, options?: ErrorOptions & { message?: string }) {
    super(options?.message ?? `rpc error: code = ${codeName} desc = ${details}`, options);
    this.code = CriCode[codeName];
    this.codeName = codeName;
    this.details = details;
  }
}

/** A numeric status from the wire; codes outside the known range count as Unknown, as gRPC asks. */
export function criErrorFromStatus(code: number, details: string, cause?: unknown): CriError {
  return new CriError(NAMES.get(code) ?? 'Unknown', details, { cause });
}

function hasCode(error: unknown, codeName: CriCodeName): boolean {
  return error instanceof CriError && error.codeName === codeName;
}

export const isNotFound = (error: unknown): boolean => hasCode(error, 'NotFound');
export const isUnimplemented = (error: unknown): boolean => hasCode(error, 'Unimplemented');
export const isDeadlineExceeded = (error: unknown): boolean => hasCode(error, 'DeadlineExceeded');
export const isUnavailable = (error: unknown): boolean => hasCode(error, 'Unavailable');
