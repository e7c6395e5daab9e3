/** Decides whether and when to retry a request. */

export type RequestMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export type RequestOutcome =
  | { readonly kind: 'refused'; readonly code: number; readonly retryAfterSeconds: number | undefined }
  /** A reused connection was closed before the first byte of the response. */
  | { readonly kind: 'stale-connection' }
  /** The server rejected the credentials, and there are newer ones now. */
  | { readonly kind: 'credentials-renewed' };

export interface RetryInput {
  readonly method: RequestMethod;
  /** How often it has been sent, at least once. */
  readonly attempts: number;
  readonly outcome: RequestOutcome;
}

export type RetryDecision =
  | { readonly retry: false }
  | { readonly retry: true; readonly waitMs: number; readonly because: string };

const mostAttempts = 10;
const longestWaitSeconds = 60;

export function decideRetry({ method, attempts, outcome }: RetryInput): RetryDecision {
  if (attempts >= mostAttempts) return { retry: false };
  switch (outcome.kind) {
    case 'refused': {
      const { code, retryAfterSeconds } = outcome;
      // With a Retry-After the server did nothing; an error without one may come after half the work. A
      // timeout (504) also means that the server does not have a version, which the caller must know at once.
      const comesBack = code === 429 || (code >= 500 && code !== 504);
      if (retryAfterSeconds === undefined || !comesBack) return { retry: false };
      const waitSeconds = Math.min(Math.max(retryAfterSeconds, 0), longestWaitSeconds);
      return { retry: true, waitMs: waitSeconds * 1000, because: `the server asked for a retry (${code})` };
    }
    case 'stale-connection':
      // Only a read may be repeated without knowing whether the first one was received.
      if (method !== 'GET') return { retry: false };
      return { retry: true, waitMs: 0, because: 'the server had closed the idle connection' };
    case 'credentials-renewed':
      if (attempts > 1) return { retry: false };
      return { retry: true, waitMs: 0, because: 'the credentials were renewed' };
  }
}

/** The seconds of a Retry-After header; the API does not use the date form. */
export function readRetryAfter(header: string | undefined): number | undefined {
  if (header === undefined || !/^\d{1,9}$/.test(header.trim())) return undefined;
  return Number(header);
}
