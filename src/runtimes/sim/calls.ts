/**
 * The entry to a simulated runtime: counts calls, applies the fault plan, and enforces deadlines and
 * cancellation.
 */
import { setMaxListeners } from 'node:events';
import { type Clock, sleep } from '../../async/index.js';
import {
  type CallOptions,
  CriError,
  type CriMethodName,
  criMethods,
  isCriMethodName,
  type MethodInfo,
  type StreamCall,
  type UnaryCall,
} from '../../cri/index.js';
import { callError, callScope, canceled, withinScope } from '../call-scope.js';
import { FaultPlan } from './faults.js';

type SimCallHandler<Request, Response> = (request: Request) => Response;
type WaitingHandler<Request, Response> = (request: Request, signal: AbortSignal) => Promise<Response>;

/** Every running call listens to it. */
function newConnection(): AbortController {
  const connection = new AbortController();
  setMaxListeners(0, connection.signal);
  return connection;
}

export class SimCalls {
  readonly faults = new FaultPlan();
  /** Calls so far by method, whatever their outcome. */
  readonly counts: Record<CriMethodName, number>;
  readonly #clock: Clock;
  #away = false;
  #connection = newConnection();

  constructor(clock: Clock) {
    this.#clock = clock;
    // The keys of the method table are exactly the names of the methods.
    this.counts = Object.fromEntries(Object.keys(criMethods).map((name) => [name, 0])) as Record<
      CriMethodName,
      number
    >;
  }

  /** Aborted when the runtime goes away. */
  get connection(): AbortSignal {
    return this.#connection.signal;
  }

  get away(): boolean {
    return this.#away;
  }

  /** Calls fail until `comeBack`; running ones lose their response. */
  goAway(): void {
    this.#away = true;
    this.#connection.abort(new CriError('Unavailable', 'error reading from server: EOF'));
  }

  comeBack(): void {
    this.#away = false;
    if (this.#connection.signal.aborted) this.#connection = newConnection();
  }

  /** A call with an immediate response. */
  unary<Request extends object, Response extends object>(
    method: MethodInfo<Request, Response>,
    handle: SimCallHandler<Request, Response>,
  ): UnaryCall<Request, Response> {
    const name = methodName(method);
    return async (init, options) => {
      const verdict = this.#enter(name, options);
      const request = method.request.create(init);
      if (verdict === undefined) return answer(() => handle(request));
      return this.#within(options, async (signal) => {
        if (verdict.delayMs > 0) await sleep(this.#clock, verdict.delayMs, signal);
        if (verdict.error !== undefined) throw verdict.error;
        const response = answer(() => handle(request));
        if (verdict.lostAnswer !== undefined) throw verdict.lostAnswer;
        return response;
      });
    };
  }

  /** A call whose work takes time on the clock. */
  waiting<Request extends object, Response extends object>(
    method: MethodInfo<Request, Response>,
    handle: WaitingHandler<Request, Response>,
  ): UnaryCall<Request, Response> {
    const name = methodName(method);
    return async (init, options) => {
      const verdict = this.#enter(name, options);
      const request = method.request.create(init);
      return this.#within(options, async (signal) => {
        if (verdict !== undefined && verdict.delayMs > 0) await sleep(this.#clock, verdict.delayMs, signal);
        if (verdict?.error !== undefined) throw verdict.error;
        const response = await handle(request, signal);
        if (verdict?.lostAnswer !== undefined) throw verdict.lostAnswer;
        return response;
      });
    };
  }

  /** A stream; faults apply to its opening. */
  stream<Request extends object, Response extends object>(
    method: MethodInfo<Request, Response>,
    open: (request: Request, signal: AbortSignal) => AsyncIterable<Response> | Iterable<Response>,
  ): StreamCall<Request, Response> {
    const name = methodName(method);
    return (init, options) => this.#stream(name, method.request.create(init), options, open);
  }

  async *#stream<Request extends object, Response extends object>(
    name: CriMethodName,
    request: Request,
    options: CallOptions | undefined,
    open: (request: Request, signal: AbortSignal) => AsyncIterable<Response> | Iterable<Response>,
  ): AsyncGenerator<Response, void, undefined> {
    const verdict = this.#enter(name, options);
    const scope = callScope(this.#clock, options, this.#connection.signal);
    try {
      if (verdict !== undefined && verdict.delayMs > 0)
        await sleep(this.#clock, verdict.delayMs, scope.signal);
      if (verdict?.error !== undefined) throw verdict.error;
      if (verdict?.lostAnswer !== undefined) throw verdict.lostAnswer;
      yield* open(request, scope.signal);
      if (scope.signal.aborted) throw scope.signal.reason;
    } catch (error) {
      throw callError(error, scope.signal);
    } finally {
      scope.close();
    }
  }

  #enter(name: CriMethodName, options: CallOptions | undefined) {
    this.counts[name]++;
    if (options?.signal?.aborted) throw canceled();
    if (this.#away) {
      throw new CriError(
        'Unavailable',
        'connection error: desc = "transport: Error while dialing: connect: connection refused"',
      );
    }
    return this.faults.take(name);
  }

  #within<T>(options: CallOptions | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return withinScope(callScope(this.#clock, options, this.#connection.signal), work);
  }
}

function answer<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw callError(error);
  }
}

function methodName(method: MethodInfo<object, object> | { readonly path: string }): CriMethodName {
  const last = method.path.slice(method.path.lastIndexOf('/') + 1);
  const name = last.charAt(0).toLowerCase() + last.slice(1);
  if (!isCriMethodName(name)) throw new Error(`${method.path} is not a CRI method`);
  return name;
}
