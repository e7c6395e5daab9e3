/** One gRPC connection to a unix socket, with calls that are promises and streams that are async iterables. */
import { Client, type ClientOptions, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { systemClock } from '../async/index.js';
import type { Init, MethodInfo } from './codec.js';
import { CriError, criErrorFromStatus } from './errors.js';
import type { CallOptions } from './runtime.js';

/** Both sides refuse larger messages. */
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/** Deadlines further away than a timer can count are no deadlines. */
const MAX_TIMEOUT_MS = 2_147_483_647;

const OPTIONS: ClientOptions = {
  'grpc.default_authority': 'localhost',
  'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
  'grpc.max_send_message_length': -1,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 3000,
  // A connection of our own: its back-off must not depend on who else talks to the socket.
  'grpc.use_local_subchannel_pool': 1,
  'grpc.enable_http_proxy': 0,
  'grpc.service_config_disable_resolution': 1,
};

interface ActiveCall {
  cancel(): void;
}

/** Connects with the first call and again after a loss; calls while the socket is away fail at once with Unavailable. */
export class GrpcConnection {
  readonly #client: Client;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #active = new Set<ActiveCall>();
  #closed = false;

  constructor(socketPath: string, headers: Readonly<Record<string, string>> = {}) {
    this.#client = new Client(`unix:${socketPath}`, credentials.createInsecure(), OPTIONS);
    this.#headers = headers;
  }

  unary<Request extends object, Response extends object>(
    method: MethodInfo<Request, Response>,
    request: Init<Request>,
    options: CallOptions = {},
  ): Promise<Response> {
    return new Promise((resolve, reject) => {
      const refusal = this.#refusal(options.signal);
      if (refusal !== undefined) {
        reject(refusal);
        return;
      }
      const call = this.#client.makeUnaryRequest<Init<Request>, Response>(
        method.path,
        (value) => method.request.encode(value),
        (bytes) => method.response.decode(bytes),
        request,
        this.#metadata(),
        { deadline: deadlineOf(options.timeoutMs) },
        (error, response) => {
          untrack();
          if (error !== null) reject(toCriError(error, options.signal));
          else if (response === undefined) reject(new CriError('Internal', 'the response has no message'));
          else resolve(response);
        },
      );
      const untrack = this.#track(call, options.signal);
    });
  }

  /** The call is made when the iteration begins and cancelled when the consumer stops iterating. */
  async *stream<Request extends object, Response extends object>(
    method: MethodInfo<Request, Response>,
    request: Init<Request>,
    options: CallOptions = {},
  ): AsyncGenerator<Response, void, undefined> {
    const refusal = this.#refusal(options.signal);
    if (refusal !== undefined) throw refusal;
    const call = this.#client.makeServerStreamRequest<Init<Request>, Response>(
      method.path,
      (value) => method.request.encode(value),
      (bytes) => method.response.decode(bytes),
      request,
      this.#metadata(),
      { deadline: deadlineOf(options.timeoutMs) },
    );
    // The iteration below reports the error; this one keeps a cancellation after it from being unhandled.
    call.on('error', () => {});
    const untrack = this.#track(call, options.signal);
    try {
      for await (const message of call) {
        // Messages are what the decoder above returned; the stream itself is untyped.
        yield message as Response;
      }
    } catch (error) {
      throw toCriError(error, options.signal);
    } finally {
      untrack();
      call.cancel();
    }
  }

  /** Ends every call with Canceled and drops the connection. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const call of [...this.#active]) call.cancel();
    this.#client.close();
  }

  #refusal(signal: AbortSignal | undefined): CriError | undefined {
    if (signal?.aborted) return new CriError('Canceled', 'context canceled', { cause: signal.reason });
    if (this.#closed) return new CriError('Canceled', 'grpc: the client connection is closing');
    return undefined;
  }

  #metadata(): Metadata {
    const metadata = new Metadata();
    for (const [name, value] of Object.entries(this.#headers)) metadata.set(name, value);
    return metadata;
  }

  #track(call: ActiveCall, signal: AbortSignal | undefined): () => void {
    const onAbort = (): void => call.cancel();
    this.#active.add(call);
    signal?.addEventListener('abort', onAbort, { once: true });
    return () => {
      this.#active.delete(call);
      signal?.removeEventListener('abort', onAbort);
    };
  }
}

function deadlineOf(timeoutMs: number | undefined): number {
  if (timeoutMs === undefined || timeoutMs > MAX_TIMEOUT_MS) return Number.POSITIVE_INFINITY;
  return systemClock.now() + Math.max(0, timeoutMs);
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'code' in error && typeof error.code === 'number' && 'details' in error;
}

/** Outcomes that this side decided are worded as the reference words them; the runtime's words stay as they are. */
function toCriError(error: unknown, signal: AbortSignal | undefined): CriError {
  if (error instanceof CriError) return error;
  if (!isServiceError(error)) return new CriError('Internal', String(error), { cause: error });
  if (error.code === status.CANCELLED && signal?.aborted) {
    return new CriError('Canceled', 'context canceled', { cause: error });
  }
  if (error.code === status.DEADLINE_EXCEEDED && error.details.startsWith('Deadline exceeded')) {
    return new CriError('DeadlineExceeded', 'context deadline exceeded', { cause: error });
  }
  return criErrorFromStatus(error.code, error.details, error);
}
