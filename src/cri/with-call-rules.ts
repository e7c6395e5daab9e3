/** Wraps a runtime for the kubelet: applies the rules of each call to every method of the table. */
import { setMaxListeners } from 'node:events';
import { type Clock, linkedController, withTimeout } from '../async/index.js';
import type { Init, MessageType } from '../grpc/index.js';
import { type CallRule, callRules, operationTypes, plainError } from './call-rules.js';
import { asCriError, type CriError } from './errors.js';
import { streamedLists } from './list-streaming.js';
import { type CriMetrics, countCall, createCriMetrics } from './metrics.js';
import {
  type AnyStreamCall,
  type AnyUnaryCall,
  type CriMethodName,
  type CriRuntime,
  criMethods,
  isCriMethodName,
} from './runtime.js';

export interface CallRulesOptions {
  /** The default deadline of a call. */
  readonly requestTimeoutMs: number;
  readonly clock: Clock;
  /** @default metrics that are not exposed */
  readonly metrics?: CriMetrics | undefined;
  /** When it aborts, calls in flight and all later calls fail with Canceled. */
  readonly signal?: AbortSignal;
  /**
   * The runtime ends every unary call at its `timeoutMs` and with its `signal`, as a gRPC client does. The wrapper then
   * sets no timer of its own.
   * @default false
   */
  readonly runtimeEndsCalls?: boolean;
  /**
   * Uses the `Stream*` form of the list calls while the runtime has it.
   * @default false
   */
  readonly listStreaming?: boolean;
}

// The method tables type requests and responses at the edges of this file. Inside, the same code handles all methods
// and treats their messages as objects.
type AnyRule = CallRule<object, object>;
type CountedOptions = CallRulesOptions & { readonly metrics: CriMetrics };

/** Responses that stand for an error, with the error. */
const forgiven = new WeakMap<object, CriError>();

/** Why the runtime refused the call, where that counts as success; undefined where it did not. */
export function forgivenError(response: object): CriError | undefined {
  return forgiven.get(response);
}

/**
 * A call fails with DeadlineExceeded at its deadline, and with Canceled when its signal or the signal of the options
 * aborts. A `timeoutMs` of the caller replaces the deadline.
 */
export function withCallRules(runtime: CriRuntime, given: CallRulesOptions): CriRuntime {
  const options: CountedOptions = { ...given, metrics: given.metrics ?? createCriMetrics() };
  // Each call in flight adds a listener.
  if (options.signal !== undefined) setMaxListeners(0, options.signal);
  const lists: Partial<CriRuntime> = options.listStreaming ? streamedLists(runtime) : {};
  const methods = Object.entries(criMethods).flatMap(([name, { serverStreaming, response }]) => {
    if (!isCriMethodName(name)) return [];
    // The rule and the method have the types of the name by which they are looked up; the table says which methods stream.
    const rule = (callRules[name] ?? {}) as AnyRule;
    const call = (lists[name] ?? runtime[name].bind(runtime)) as unknown;
    return [
      [
        name,
        serverStreaming
          ? ruledStream(name, rule, call as AnyStreamCall, options)
          : ruledUnary(name, rule, call as AnyUnaryCall, response, options),
      ],
    ];
  });
  // Built from the method table, whose keys and messages are those of CriRuntime.
  return Object.fromEntries(methods) as CriRuntime;
}

function ruledUnary(
  name: CriMethodName,
  rule: AnyRule,
  call: AnyUnaryCall,
  responseType: MessageType<object>,
  options: CountedOptions,
): AnyUnaryCall {
  const { requestTimeoutMs, clock, metrics, signal: stopping } = options;
  const operation = operationTypes[name];
  const endedCall = options.runtimeEndsCalls ? call : endedInTime(call, clock);
  return async (request, { timeoutMs: given, signal: own } = {}) => {
    const startMs = clock.monotonic();
    const link = own !== undefined && stopping !== undefined ? linkedController(own, stopping) : undefined;
    try {
      const sent: Init<object> = rule.prepare?.(request, requestTimeoutMs) ?? request;
      const timeoutMs = given ?? defaultTimeoutMs(rule, request, requestTimeoutMs);
      const signal = link?.controller.signal ?? own ?? stopping;
      const response = await endedCall(sent, { timeoutMs, signal });
      const problem = rule.problem?.(response, request);
      if (problem !== undefined) throw plainError(problem);
      countCall(metrics, operation, clock.monotonic() - startMs);
      return response;
    } catch (cause) {
      const met = asCriError(cause);
      const error = rule.reword?.(met, request) ?? met;
      countCall(metrics, operation, clock.monotonic() - startMs, error);
      if (!rule.forgive?.(error)) throw error;
      const response = responseType.create();
      forgiven.set(response, error);
      return response;
    } finally {
      link?.unlink();
    }
  };
}

/** Ends the call at its deadline and with its signal, even if the runtime does not. */
function endedInTime(call: AnyUnaryCall, clock: Clock): AnyUnaryCall {
  return (request, { timeoutMs, signal: outer } = {}) =>
    withTimeout(clock, timeoutMs ?? Number.POSITIVE_INFINITY, outer, (signal) =>
      call(request, { timeoutMs, signal }),
    );
}

function ruledStream(
  name: CriMethodName,
  rule: AnyRule,
  call: AnyStreamCall,
  { requestTimeoutMs, clock, metrics, signal: stopping }: CountedOptions,
): AnyStreamCall {
  return async function* (request, { timeoutMs: given, signal: own } = {}) {
    const startMs = clock.monotonic();
    const timeoutMs = given ?? defaultTimeoutMs(rule, request, requestTimeoutMs);
    const link = own !== undefined && stopping !== undefined ? linkedController(own, stopping) : undefined;
    let error: CriError | undefined;
    try {
      yield* call(request, { timeoutMs, signal: link?.controller.signal ?? own ?? stopping });
    } catch (cause) {
      error = asCriError(cause);
      throw error;
    } finally {
      link?.unlink();
      countCall(metrics, operationTypes[name], clock.monotonic() - startMs, error);
    }
  };
}

function defaultTimeoutMs(rule: AnyRule, request: object, requestTimeoutMs: number): number | undefined {
  return rule.timeoutMs === undefined ? requestTimeoutMs : rule.timeoutMs(request, requestTimeoutMs);
}
