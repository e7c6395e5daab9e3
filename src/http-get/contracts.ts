/** What a GET to a container is, what bounds it and what comes of it. */
import type { Clock } from '../async/index.js';

export interface HttpUrl {
  readonly scheme: string;
  /** Without brackets. Empty for this machine. */
  readonly hostname: string;
  /** Undefined for the scheme's own. */
  readonly port: number | undefined;
  /** Path and query as they are sent; begins with a slash. */
  readonly target: string;
}

export interface HttpGetRequest {
  readonly url: HttpUrl;
  /** The `Host` header, where it is not the URL's host. */
  readonly hostHeader: string | undefined;
  /** Canonical names; a name with several values stands there several times. */
  readonly headers: readonly (readonly [name: string, value: string])[];
}

export interface HttpAnswer {
  readonly status: number;
  /** The first part of it, if it is long. */
  readonly body: string;
}

export interface HttpLimits {
  readonly clock: Clock;
  /** Undefined for no limit but the signal. */
  readonly timeoutMs: number | undefined;
  /** Aborting ends it with Cancelled. */
  readonly signal: AbortSignal | undefined;
  /** An answer is complete with its headers; its body is not waited for. */
  readonly ignoresBody?: boolean;
}

/** No answer was had; the message is the text for users. */
export class HttpGetError extends Error {
  override readonly name: string = 'HttpGetError';
}

/** The server speaks HTTP where HTTPS was expected. */
export class PlainHttpAnswer extends HttpGetError {
  override readonly name = 'PlainHttpAnswer';
}
