/** The entry to the process runtime: enforces deadlines and cancellation, and tracks running calls. */
import { setMaxListeners } from 'node:events';
import type { Clock } from '../../async/index.js';
import {
  type CallOptions,
  CriError,
  type MethodInfo,
  type StreamCall,
  type UnaryCall,
} from '../../cri/index.js';
import { callError, callScope, canceled, withinScope } from '../call-scope.js';

export class ProcessCalls {
  readonly #clock: Clock;
  readonly #open = new AbortController();
  readonly #underWay = new Set<Promise<unknown>>();

  constructor(clock: Clock) {
    this.#clock = clock;
    // Every running call listens on this signal, so many listeners are fine.
    setMaxListeners(0, this.#open.signal);
  }

  unary<Request extends object, Response extends object>(
    method: MethodInfo<Request, Response>,
    handle: (request: Request, signal: AbortSignal) => Response | Promise<Response>,
  ): UnaryCall<Request, Response> {
    return async (init, options) => {
      this.#enter(options);
      const request = method.request.create(init);
      return withinScope(callScope(this.#clock, options, this.#open.signal), (signal) =>
        this.#track(async () => handle(request, signal)),
      );
    };
  }

  stream<Request extends object, Response extends object>(
    method: MethodInfo<Request, Response>,
    open: (
      request: Request,
      signal: AbortSignal,
    ) => AsyncIterable<Response> | Iterable<Response> | Promise<Iterable<Response>>,
  ): StreamCall<Request, Response> {
    return (init, options) => this.#stream(method.request.create(init), options, open);
  }

  /** Ends all calls with Unavailable and resolves when none is running. */
  async close(): Promise<void> {
    this.#open.abort(closed());
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
  }

  async *#stream<Request extends object, Response extends object>(
    request: Request,
    options: CallOptions | undefined,
    open: (
      request: Request,
      signal: AbortSignal,
    ) => AsyncIterable<Response> | Iterable<Response> | Promise<Iterable<Response>>,
  ): AsyncGenerator<Response, void, undefined> {
    this.#enter(options);
    const scope = callScope(this.#clock, options, this.#open.signal);
    try {
      yield* await open(request, scope.signal);
      if (scope.signal.aborted) throw scope.signal.reason;
    } catch (error) {
      throw callError(error, scope.signal);
    } finally {
      scope.close();
    }
  }

  #enter(options: CallOptions | undefined): void {
    if (options?.signal?.aborted) throw canceled();
    if (this.#open.signal.aborted) throw closed();
  }

  /** An abandoned call goes on until its work is undone. */
  async #track<T>(work: () => Promise<T>): Promise<T> {
    const running = work();
    this.#underWay.add(running);
    try {
      return await running;
    } finally {
      this.#underWay.delete(running);
    }
  }
}

function closed(): CriError {
  return new CriError('Unavailable', 'the process runtime is closed');
}
