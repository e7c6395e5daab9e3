/**
 * One gRPC connection to a unix socket, or to a port. Calls are promises, streams are async iterables. The agent makes a dozen calls
 * for each pod, so a call must be cheap.
 */

import { callError, type ResponseHeaders, timeoutText } from './call-status.js';
import { GrpcError } from './errors.js';
import { encodeHeaders } from './h2/hpack.js';
import { H2Session, type H2Stream, type StreamEnd } from './h2/session.js';
import { grpcClientLimits } from './limits.js';
import { frameMessage, GrpcMessageReader } from './message-frames.js';
import type { Init, MethodInfo } from './protobuf/codec.js';

export interface CallOptions {
  /** The call fails with DeadlineExceeded after this time. Absent: the call has no deadline. */
  readonly timeoutMs?: number;
  /** Aborting makes the call fail with Canceled. */
  readonly signal?: AbortSignal;
  /** Headers of this call alone, by lower-case name. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

/** A server that is not on this machine, or not on a socket. The connection is not encrypted. */
export interface GrpcHost {
  readonly host: string;
  readonly port: number;
}

export interface ConnectionEvents {
  /** The server has answered on a new connection. */
  readonly onReady?: () => void;
  /** There is no connection any more, or none could be made. The next call, or `connect`, tries again. */
  readonly onLost?: () => void;
}

/** Node's longest timer. A later deadline counts as none. */
const maxTimeoutMs = 2_147_483_647;
/** The connection's window holds the largest message, so a slow stream does not block a list. */
const { messageBytes: maxMessageBytes, streamWindowBytes } = grpcClientLimits;
const connectionWindowBytes = maxMessageBytes;

/** How many encoded header blocks of requests are cached; each method has a few. */
const rememberedBlocks = 256;

type EndCall = (error: GrpcError) => void;

/** Receives the response of a call. */
interface ResponseListener {
  data(chunk: Buffer): void;
  /** Called once, with the error of the call if it failed. */
  ended(error: GrpcError | undefined): void;
}

interface GrpcCall {
  /** Ends the call from this side. */
  readonly fail: EndCall;
  /** Tells that the caller has read so many bytes, for a call that is not read at once. */
  consumed(bytes: number): void;
}

/** Connects at the first call and reconnects after a loss. While the socket is gone, calls fail at once with Unavailable. */
export class GrpcConnection {
  readonly #server: string | GrpcHost;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #events: ConnectionEvents;
  /** Ends each call in flight. */
  readonly #active = new Set<EndCall>();
  readonly #blocks = new Map<string, Buffer>();
  #session: H2Session | undefined;
  #closed = false;

  constructor(
    /** The path of a socket, or a port. */
    server: string | GrpcHost,
    headers: Readonly<Record<string, string>> = {},
    events: ConnectionEvents = {},
  ) {
    this.#server = server;
    this.#headers = headers;
    this.#events = events;
  }

  unary<Request extends object, Response extends object>(
    method: MethodInfo<Request, Response>,
    request: Init<Request>,
    options: CallOptions = {},
  ): Promise<Response> {
    return new Promise((resolve, reject) => {
      const reader = new GrpcMessageReader(maxMessageBytes);
      let message: Uint8Array | undefined;
      const call = this.#call(method, request, options, true, {
        data: (chunk) => {
          try {
            if (message !== undefined)
              throw new GrpcError('Internal', 'the response has more than one message');
            reader.push(chunk);
            message = reader.next();
          } catch (error) {
            call.fail(internalError(error));
          }
        },
        ended: (error) => {
          if (error !== undefined) return reject(error);
          if (message === undefined) return reject(new GrpcError('Internal', 'the response has no message'));
          try {
            resolve(method.response.decode(message));
          } catch (decodeError) {
            reject(internalError(decodeError));
          }
        },
      });
    });
  }

  /** Makes the call when the iteration begins and cancels it when the consumer stops iterating. */
  async *stream<Request extends object, Response extends object>(
    method: MethodInfo<Request, Response>,
    request: Init<Request>,
    options: CallOptions = {},
  ): AsyncGenerator<Response, void, undefined> {
    const reader = new GrpcMessageReader(maxMessageBytes);
    let unreadBytes = 0;
    let end: { readonly error: GrpcError | undefined } | undefined;
    let wake = (): void => undefined;
    const call = this.#call(method, request, options, false, {
      data: (chunk) => {
        reader.push(chunk);
        unreadBytes += chunk.length;
        wake();
      },
      ended: (error) => {
        end = { error };
        wake();
      },
    });
    try {
      for (;;) {
        if (unreadBytes === 0) {
          if (end !== undefined) break;
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
          continue;
        }
        call.consumed(unreadBytes);
        unreadBytes = 0;
        for (let bytes = reader.next(); bytes !== undefined; bytes = reader.next()) {
          yield method.response.decode(bytes);
        }
      }
      if (end.error !== undefined) throw end.error;
    } catch (error) {
      throw internalError(error);
    } finally {
      call.fail(new GrpcError('Canceled', 'context canceled'));
    }
  }

  /** Connects without a call, if it is not connected. */
  connect(): void {
    if (!this.#closed) this.#connected();
  }

  /** Ends every call with Canceled and closes the connection. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    const error = new GrpcError('Canceled', 'grpc: the client connection is closing');
    for (const fail of [...this.#active]) fail(error);
    const session = this.#session;
    this.#session = undefined;
    session?.destroy();
  }

  /** Sends the request. With `isRead`, received bytes count as read at once. */
  #call<Request extends object>(
    method: MethodInfo<Request, object>,
    request: Init<Request>,
    { signal, timeoutMs, metadata }: CallOptions,
    isRead: boolean,
    listener: ResponseListener,
  ): GrpcCall {
    let isOver = false;
    let stream: H2Stream | undefined;
    let timer: NodeJS.Timeout | undefined;
    let headers: ResponseHeaders | undefined;
    let trailers: ResponseHeaders | undefined;
    const settle = (error: GrpcError | undefined): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      this.#active.delete(fail);
      listener.ended(error);
    };
    const fail: EndCall = (error) => {
      if (isOver) return;
      // Sends RST_STREAM with CANCEL (gRPC over HTTP/2, Client Cancellation).
      stream?.cancel();
      settle(error);
    };
    const onAbort = (): void =>
      fail(new GrpcError('Canceled', 'context canceled', { cause: signal?.reason }));
    const call: GrpcCall = { fail, consumed: (bytes) => stream?.consumed(bytes) };
    const refusal = this.#refusal(signal);
    if (refusal !== undefined) {
      settle(refusal);
      return call;
    }
    const limitMs =
      timeoutMs === undefined || timeoutMs > maxTimeoutMs ? undefined : Math.max(0, Math.ceil(timeoutMs));
    const beganMs = performance.now();
    const isLate = (): boolean => limitMs !== undefined && performance.now() - beganMs >= limitMs;
    try {
      const body = frameMessage(method.request.encode(request));
      const events = {
        headers: (received: ResponseHeaders): void => {
          if (headers === undefined) headers = received;
          else trailers = received;
        },
        data: (chunk: Buffer): void => listener.data(chunk),
        ended: ({ resetCode, error }: StreamEnd): void =>
          settle(
            callError({
              dialed: dialed(this.#server),
              headers,
              trailers,
              resetCode,
              error,
              isLate: isLate(),
            }),
          ),
      };
      const block = this.#block(method.path, limitMs);
      // The encoder keeps no state, so blocks can be joined.
      const whole = metadata === undefined ? block : Buffer.concat([block, encodeHeaders(metadata)]);
      stream = this.#connected().open(whole, body, events, isRead);
    } catch (error) {
      settle(internalError(error));
      return call;
    }
    this.#active.add(fail);
    signal?.addEventListener('abort', onAbort, { once: true });
    if (limitMs !== undefined) {
      timer = setTimeout(() => fail(new GrpcError('DeadlineExceeded', 'context deadline exceeded')), limitMs);
    }
    return call;
  }

  #block(path: string, timeoutMs: number | undefined): Buffer {
    const timeout = timeoutMs === undefined ? '' : timeoutText(timeoutMs);
    const key = `${path} ${timeout}`;
    const known = this.#blocks.get(key);
    if (known !== undefined) return known;
    // Call-Definition (gRPC over HTTP/2, Requests).
    const block = encodeHeaders({
      ':method': 'POST',
      ':scheme': 'http',
      ':path': path,
      ':authority': typeof this.#server === 'string' ? 'localhost' : hostAndPort(this.#server),
      'content-type': 'application/grpc',
      te: 'trailers',
      ...(timeout === '' ? {} : { 'grpc-timeout': timeout }),
      ...this.#headers,
    });
    if (this.#blocks.size >= rememberedBlocks) this.#blocks.clear();
    this.#blocks.set(key, block);
    return block;
  }

  #connected(): H2Session {
    if (this.#session?.isUsable !== true) {
      const session: H2Session = new H2Session({
        server: this.#server,
        streamWindowBytes,
        connectionWindowBytes,
        onReady: () => this.#events.onReady?.(),
        // Another one may have taken its place.
        onClose: () => {
          if (this.#session === session) this.#events.onLost?.();
        },
      });
      this.#session = session;
    }
    return this.#session;
  }

  #refusal(signal: AbortSignal | undefined): GrpcError | undefined {
    if (signal?.aborted) return new GrpcError('Canceled', 'context canceled', { cause: signal.reason });
    if (this.#closed) return new GrpcError('Canceled', 'grpc: the client connection is closing');
    return undefined;
  }
}

function hostAndPort({ host, port }: GrpcHost): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** What a failed connection names. */
function dialed(server: string | GrpcHost): string {
  return typeof server === 'string' ? `unix ${server}` : `tcp ${hostAndPort(server)}`;
}

function internalError(error: unknown): GrpcError {
  if (error instanceof GrpcError) return error;
  return new GrpcError('Internal', error instanceof Error ? error.message : String(error), { cause: error });
}
