/** The request, the rules and the response of a GET. */
import type { LookupFunction } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
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
  /** A name with several values appears several times. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Speaks HTTP/2 without TLS, to a server that is known to understand it. */
  readonly isPlainHttp2?: boolean;
}

export interface HttpResponse {
  readonly status: number;
  /** The words after the status; HTTP/2 has none. */
  readonly statusMessage: string;
  readonly body: Buffer;
}

/** How far a request is. */
export type GetStage = 'dial' | 'headers' | 'body';

export interface SocketAddresses {
  readonly localAddress?: string | undefined;
  readonly localPort?: number | undefined;
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
}

/** Why no response arrived. */
export type GetFailure =
  | { readonly kind: 'timeout'; readonly url: HttpUrl; readonly stage: GetStage }
  | {
      readonly kind: 'error';
      readonly url: HttpUrl;
      readonly stage: GetStage;
      readonly addresses: SocketAddresses;
      readonly error: unknown;
    };

/** What a body may have, and what becomes of one that reaches the limit. With a limit of 0, no body is read. */
export interface BodyRule {
  readonly limitBytes: number;
  readonly atLimit: 'truncate' | 'fail';
}

/** What differs between those who GET. */
export interface GetRules {
  readonly body: BodyRule;
  /** What to speak without TLS; default HTTP/1.1. */
  readonly plainProtocol?: 'h2' | 'http/1.1';
  /** The protocols to offer over TLS, the preferred one first. */
  readonly protocols: readonly ('h2' | 'http/1.1')[];
  /** Whom to trust, and how; read before each connection with TLS. */
  readonly tls: () => ConnectionOptions | Promise<ConnectionOptions>;
  /** How host names are looked up while `isWanted` says so. Default: as Node does. */
  readonly lookup?: (isWanted: () => boolean) => LookupFunction;
  /**
   * The request to a redirect's location; undefined makes the response with the redirect final. `hops` counts the
   * requests made so far. Throws when there were too many.
   */
  readonly redirect: (location: string, current: HttpGetRequest, hops: number) => HttpGetRequest | undefined;
  /** The error that the caller sees. */
  readonly failure: (failure: GetFailure) => Error;
}

export interface GetLimits {
  readonly clock: Clock;
  /** Covers all requests. Undefined if only the signal bounds them. */
  readonly timeoutMs: number | undefined;
  /** Aborting rejects with Cancelled. */
  readonly signal: AbortSignal | undefined;
}

/** The response to an `httpGet` action. */
export interface HttpGetResponse {
  readonly status: number;
  /** Truncated if it is long. */
  readonly body: string;
}

export interface HttpLimits extends GetLimits {
  /** The response is complete once its headers arrive; the body is not read. */
  readonly ignoresBody?: boolean;
}

/** No response arrived; the message is shown to users. */
export class HttpGetError extends Error {
  override readonly name: string = 'HttpGetError';
}

/** The server speaks HTTP where HTTPS was expected. */
export class PlainHttpResponse extends HttpGetError {
  override readonly name = 'PlainHttpResponse';
}
