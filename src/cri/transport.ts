/**
 * One gRPC connection to a unix socket, with calls that are promises and streams that are async iterables.
 * It is gRPC on Node's own HTTP/2: the agent makes a dozen calls per pod, so what a call costs is what a pod costs.
 */
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import { createConnection } from 'node:net';
import type { Init, MethodInfo } from './codec.js';
import { CriError } from './errors.js';
import { frameMessage, MessageReader } from './grpc-frames.js';
import { type AnswerHeaders, callError, timeoutText } from './grpc-status.js';
import type { CallOptions } from './runtime.js';

/** Both sides refuse larger messages. */
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/** Deadlines further away than a timer can count are no deadlines. */
const MAX_TIMEOUT_MS = 2_147_483_647;
/** What the other side may send before it is read: enough for a list in one go, and room for streams that wait. */
const streamWindowBytes = 1024 * 1024;
const connectionWindowBytes = MAX_MESSAGE_BYTES;

type EndCall = (error: CriError) => void;

/** Connects with the first call and again after a loss; calls while the socket is away fail at once with Unavailable. */
export class GrpcConnection {
  readonly #socketPath: string;
  readonly #headers: Readonly<Record<string, string>>;
  /** How to end each call under way. */
  readonly #active = new Set<EndCall>();
  #session: ClientHttp2Session | undefined;
  #closed = false;

  constructor(socketPath: string, headers: Readonly<Record<string, string>> = {}) {
    this.#socketPath = socketPath;
    this.#headers = headers;
  }

  unary<Request extends object, Response extends object>(
    method: MethodInfo<Request, Response>,
    request: Init<Request>,
    options: CallOptions = {},
  ): Promise<Response> {
    return new Promise((resolve, reject) => {
      const { stream, ended, fail } = this.#call(method, request, options);
      const reader = new MessageReader(MAX_MESSAGE_BYTES);
      let message: Uint8Array | undefined;
      stream?.on('data', (chunk: Buffer) => {
        try {
          reader.push(chunk);
          message ??= reader.next();
        } catch (error) {
          fail(internalError(error));
        }
      });
      ended((error) => {
        if (error !== undefined) return reject(error);
        if (message === undefined) return reject(new CriError('Internal', 'the response has no message'));
        try {
          resolve(method.response.decode(message));
        } catch (decodeError) {
          reject(internalError(decodeError));
        }
      });
    });
  }

  /** The call is made when the iteration begins and cancelled when the consumer stops iterating. */
  async *stream<Request extends object, Response extends object>(
    method: MethodInfo<Request, Response>,
    request: Init<Request>,
    options: CallOptions = {},
  ): AsyncGenerator<Response, void, undefined> {
    const { stream, ended, fail } = this.#call(method, request, options);
    const outcome = new Promise<CriError | undefined>((resolve) => ended(resolve));
    const reader = new MessageReader(MAX_MESSAGE_BYTES);
    try {
      if (stream !== undefined) {
        const chunks: AsyncIterator<Buffer> = stream[Symbol.asyncIterator]();
        for (;;) {
          // A stream that breaks says so here, too, but only `outcome` knows the reason.
          const next = await chunks.next().catch(() => undefined);
          if (next === undefined || next.done) break;
          reader.push(next.value);
          for (let bytes = reader.next(); bytes !== undefined; bytes = reader.next()) {
            yield method.response.decode(bytes);
          }
        }
      }
      const error = await outcome;
      if (error !== undefined) throw error;
    } catch (error) {
      throw internalError(error);
    } finally {
      fail(new CriError('Canceled', 'context canceled'));
    }
  }

  /** Ends every call with Canceled and drops the connection. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    const error = new CriError('Canceled', 'grpc: the client connection is closing');
    for (const fail of [...this.#active]) fail(error);
    this.#session?.destroy();
    this.#session = undefined;
  }

  /** Sends the request. `ended` is told once how the call ended; `fail` ends it from this side. */
  #call<Request extends object>(
    method: MethodInfo<Request, object>,
    request: Init<Request>,
    { signal, timeoutMs }: CallOptions,
  ): {
    readonly stream: ClientHttp2Stream | undefined;
    readonly ended: (listener: (error: CriError | undefined) => void) => void;
    readonly fail: EndCall;
  } {
    let result: { readonly error: CriError | undefined } | undefined;
    let listener: ((error: CriError | undefined) => void) | undefined;
    let stream: ClientHttp2Stream | undefined;
    let timer: NodeJS.Timeout | undefined;
    const settle = (error: CriError | undefined): void => {
      if (result !== undefined) return;
      result = { error };
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      this.#active.delete(fail);
      listener?.(error);
    };
    const fail: EndCall = (error) => {
      if (result !== undefined) return;
      settle(error);
      stream?.close(constants.NGHTTP2_CANCEL);
      // What was never sent need not be taken back.
      if (stream?.pending) stream.destroy();
    };
    const onAbort = (): void => fail(new CriError('Canceled', 'context canceled', { cause: signal?.reason }));
    const ended = (listen: (error: CriError | undefined) => void): void => {
      if (result === undefined) listener = listen;
      else listen(result.error);
    };
    const refusal = this.#refusal(signal);
    if (refusal !== undefined) {
      settle(refusal);
      return { stream, ended, fail };
    }
    const limitMs =
      timeoutMs === undefined || timeoutMs > MAX_TIMEOUT_MS ? undefined : Math.max(0, Math.ceil(timeoutMs));
    try {
      const body = frameMessage(method.request.encode(request));
      stream = this.#request(method.path, limitMs);
      stream.end(body);
    } catch (error) {
      settle(internalError(error));
      return { stream: undefined, ended, fail };
    }
    this.#active.add(fail);
    signal?.addEventListener('abort', onAbort, { once: true });
    if (limitMs !== undefined) {
      timer = setTimeout(() => fail(new CriError('DeadlineExceeded', 'context deadline exceeded')), limitMs);
    }
    this.#follow(stream, settle);
    return { stream, ended, fail };
  }

  /** Tells how the call ended once HTTP/2 is through with it. */
  #follow(stream: ClientHttp2Stream, settle: (error: CriError | undefined) => void): void {
    let headers: AnswerHeaders | undefined;
    let trailers: AnswerHeaders | undefined;
    let failure: NodeJS.ErrnoException | undefined;
    stream.once('response', (received) => {
      headers = received;
    });
    stream.once('trailers', (received) => {
      trailers = received;
    });
    stream.on('error', (error: NodeJS.ErrnoException) => {
      failure ??= error;
    });
    stream.once('close', () =>
      settle(
        callError({
          socketPath: this.#socketPath,
          headers,
          trailers,
          resetCode: stream.rstCode ?? 0,
          error: failure,
        }),
      ),
    );
  }

  #request(path: string, timeoutMs: number | undefined): ClientHttp2Stream {
    return this.#connected().request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...(timeoutMs === undefined ? {} : { 'grpc-timeout': timeoutText(timeoutMs) }),
      ...this.#headers,
    });
  }

  #connected(): ClientHttp2Session {
    const current = this.#session;
    if (current !== undefined && !current.closed && !current.destroyed) return current;
    const session = connect('http://localhost', {
      createConnection: () => createConnection(this.#socketPath),
      settings: { enablePush: false, initialWindowSize: streamWindowBytes },
    });
    const forget = (): void => {
      if (this.#session === session) this.#session = undefined;
    };
    session.once('connect', () => session.setLocalWindowSize(connectionWindowBytes));
    // Every call on the session tells its own error; the session's only has to be heard.
    session.on('error', forget);
    session.once('goaway', () => {
      forget();
      session.close();
    });
    session.once('close', forget);
    this.#session = session;
    return session;
  }

  #refusal(signal: AbortSignal | undefined): CriError | undefined {
    if (signal?.aborted) return new CriError('Canceled', 'context canceled', { cause: signal.reason });
    if (this.#closed) return new CriError('Canceled', 'grpc: the client connection is closing');
    return undefined;
  }
}

function internalError(error: unknown): CriError {
  if (error instanceof CriError) return error;
  return new CriError('Internal', error instanceof Error ? error.message : String(error), { cause: error });
}
