/** The API's error responses, and what is known when there is no response. */
import { parseJson } from '../kube/manifests/json-text.js';
import type { Status } from '../kube/types/index.js';

export type StatusDetails = NonNullable<Status['details']>;

export interface ApiErrorFields {
  readonly code: number;
  readonly reason?: string;
  readonly message: string;
  readonly details?: StatusDetails;
  readonly retryAfterSeconds?: number;
}

/** The server rejected the request; the message is the server's own. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** The HTTP status code. */
  readonly code: number;
  /** Such as `NotFound`; derived from the code when the server gave none. */
  readonly reason: string;
  readonly details: StatusDetails | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(fields: ApiErrorFields) {
    super(fields.message);
    this.code = fields.code;
    this.reason = fields.reason ?? reasonOf(fields.code);
    this.details = fields.details;
    this.retryAfterSeconds = fields.retryAfterSeconds ?? fields.details?.retryAfterSeconds;
  }

  /** As the API's Status object, for passing it on. */
  get status(): Status {
    return {
      apiVersion: 'v1',
      kind: 'Status',
      status: 'Failure',
      message: this.message,
      reason: this.reason,
      code: this.code,
      ...(this.details === undefined ? {} : { details: this.details }),
    };
  }
}

/** What is known of a request without a complete response. */
export type UnansweredRequest =
  /** Nothing reached the server. */
  | 'not-sent'
  /** The server may have acted on it. */
  | 'unknown';

/** No response, or not all of it: the connection was refused, cut, or too slow. */
export class ApiUnreachable extends Error {
  override readonly name = 'ApiUnreachable';

  constructor(
    message: string,
    readonly unanswered: UnansweredRequest,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

const reasons: ReadonlyMap<number, string> = new Map([
  [400, 'BadRequest'],
  [401, 'Unauthorized'],
  [403, 'Forbidden'],
  [404, 'NotFound'],
  [405, 'MethodNotAllowed'],
  [406, 'NotAcceptable'],
  [409, 'Conflict'],
  [410, 'Gone'],
  [413, 'RequestEntityTooLarge'],
  [415, 'UnsupportedMediaType'],
  [422, 'Invalid'],
  [429, 'TooManyRequests'],
  [500, 'InternalError'],
  [503, 'ServiceUnavailable'],
  [504, 'Timeout'],
]);

function reasonOf(code: number): string {
  return reasons.get(code) ?? 'Unknown';
}

const shownBodyChars = 1024;

/** The error of a response with this status and body, which a proxy may have written instead of the API. */
export function apiErrorOf(code: number, body: string, retryAfterSeconds?: number): ApiError {
  const status = readStatus(body);
  const retry = retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
  if (status === undefined) {
    const said = body.trim().slice(0, shownBodyChars);
    const message = `the server responded with ${code}${said === '' ? '' : `: ${said}`}`;
    return new ApiError({ code, message, ...retry });
  }
  return new ApiError({ ...fieldsOf(status, code), ...retry });
}

/** The error of a Status object, as in the last event of a watch. */
export function apiErrorOfStatus(status: Status): ApiError {
  return new ApiError(fieldsOf(status, status.code ?? 500));
}

function fieldsOf(status: Status, code: number): ApiErrorFields {
  return {
    code,
    message: status.message ?? `the server responded with ${code}`,
    ...(status.reason === undefined || status.reason === '' ? {} : { reason: status.reason }),
    ...(status.details === undefined ? {} : { details: status.details }),
  };
}

function readStatus(body: string): Status | undefined {
  let value: unknown;
  try {
    value = parseJson(body);
  } catch {
    // Not JSON, so not from the API; its text is shown instead.
    return undefined;
  }
  const isStatus = typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'Status';
  // The kind matches, and each field is optional.
  return isStatus ? (value as Status) : undefined;
}

function hasReason(error: unknown, reason: string): boolean {
  return error instanceof ApiError && error.reason === reason;
}

export function isApiError(error: unknown): error is ApiError {
  return error instanceof ApiError;
}
export function isUnreachable(error: unknown): error is ApiUnreachable {
  return error instanceof ApiUnreachable;
}
export function isNotFound(error: unknown): boolean {
  return hasReason(error, 'NotFound');
}
export function isAlreadyExists(error: unknown): boolean {
  return hasReason(error, 'AlreadyExists');
}
export function isConflict(error: unknown): boolean {
  return hasReason(error, 'Conflict');
}
export function isForbidden(error: unknown): boolean {
  return hasReason(error, 'Forbidden');
}
export function isUnauthorized(error: unknown): boolean {
  return hasReason(error, 'Unauthorized');
}
export function isInvalid(error: unknown): boolean {
  return hasReason(error, 'Invalid');
}
export function isTooManyRequests(error: unknown): boolean {
  return error instanceof ApiError && error.code === 429;
}
/** The requested version is too old to be listed or watched from. */
export function isGone(error: unknown): boolean {
  return error instanceof ApiError && (error.code === 410 || error.reason === 'Expired');
}
/** The server does not have the requested version yet, or no longer. */
export function isResourceVersionTooLarge(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  return error.details?.causes?.some(({ reason }) => reason === 'ResourceVersionTooLarge') ?? false;
}
