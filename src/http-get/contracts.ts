/** The request, the limits and the response of a GET to a container. */
import type { Clock } from '../async/index.js';

export interface HttpUrl {
  readonly scheme: string;
  /** Without brackets; empty for localhost. */
  readonly hostname: string;
  /** Undefined for the scheme's default. */
  readonly port: number | undefined;
  /** Path and query as sent; begins with a slash. */
  readonly target: string;
}

export interface HttpGetRequest {
  readonly url: HttpUrl;
  /** The `Host` header, if it differs from the URL's host. */
  readonly hostHeader: string | undefined;
  /** Canonical names; a name with several values appears several times. */
  readonly headers: readonly (readonly [name: string, value: string])[];
}

export interface HttpAnswer {
  readonly status: number;
  /** Truncated if it is long. */
  readonly body: string;
}

export interface HttpLimits {
  readonly clock: Clock;
  /** Undefined if only the signal bounds the request. */
  readonly timeoutMs: number | undefined;
  /** Aborting rejects with Cancelled. */
  readonly signal: AbortSignal | undefined;
  /** The response is complete once its headers arrive; the body is not read. */
  readonly ignoresBody?: boolean;
}

/** No response arrived; the message is shown to users. */
export class HttpGetError extends Error {
  override readonly name: string = 'HttpGetError';
}

/** The server speaks HTTP where HTTPS was expected. */
export class PlainHttpAnswer extends HttpGetError {
  override readonly name = 'PlainHttpAnswer';
}
