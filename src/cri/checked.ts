/** Puts the kubelet's deadlines, response checks and metrics around any `CriRuntime`. */
import { type Clock, withTimeout } from '../async/index.js';
import type { Init, MessageType } from '../grpc/index.js';
import { type CallRule, callRules, operationTypes, plainError } from './call-rules.js';
import { asCriError, type CriError } from './errors.js';
import { type CriMetrics, countCall, createCriMetrics } from './metrics.js';
import { asPrompt, isPrompt } from './prompt.js';
import {
  type AnyStreamCall,
  type AnyUnaryCall,
  type CriMethodName,
  type CriRuntime,
  criMethods,
  isCriMethodName,
} from './runtime.js';

export interface CheckedCriOptions {
  /** The ordinary deadline of a call ("T"). */
  readonly requestTimeoutMs: number;
  readonly clock: Clock;
  /** @default metrics that nobody reads */
  readonly metrics?: CriMetrics | undefined;
}

// The method tables give requests and responses their types at the edges of this file; inside, one
// piece of code serves all methods and knows them as objects only.
type AnyRule = CallRule<object, object>;
type CheckOptions = CheckedCriOptions & { readonly metrics: CriMetrics };

/**
 * Every call ends within its deadline with DeadlineExceeded, and at once with Canceled when its
 * signal aborts, whatever the runtime behind does. A `timeoutMs` of the caller replaces the deadline.
 */
export function checkedCri(runtime: CriRuntime, given: CheckedCriOptions): CriRuntime {
  const options: CheckOptions = { ...given, metrics: given.metrics ?? createCriMetrics() };
  const inTime = isPrompt(runtime)
    ? (call: AnyUnaryCall) => call
    : (call: AnyUnaryCall) => endedInTime(call, options.clock);
  const methods = Object.entries(criMethods).flatMap(([name, { serverStreaming, response }]) => {
    if (!isCriMethodName(name)) return [];
    // Each rule and each method belong to the name they are looked up by.
    const rule = (callRules[name] ?? {}) as AnyRule;
    const call = runtime[name].bind(runtime) as unknown;
    return [
      [
        name,
        serverStreaming
          ? checkedStream(name, rule, call as AnyStreamCall, options)
          : checkedUnary(name, rule, inTime(call as AnyUnaryCall), response, options),
      ],
    ];
  });
  // Built from the method table, whose keys and messages are those of CriRuntime.
  return asPrompt(Object.fromEntries(methods) as CriRuntime);
}

/** A call that ends when it should, whatever the one behind does. */
function endedInTime(call: AnyUnaryCall, clock: Clock): AnyUnaryCall {
  return (request, { timeoutMs, signal: outer } = {}) =>
    withTimeout(clock, timeoutMs ?? Number.POSITIVE_INFINITY, outer, (signal) =>
      call(request, { timeoutMs, signal }),
    );
}

function checkedUnary(
  name: CriMethodName,
  rule: AnyRule,
  call: AnyUnaryCall,
  responseType: MessageType<object>,
  { requestTimeoutMs, clock, metrics }: CheckOptions,
): AnyUnaryCall {
  return async (request, callOptions = {}) => {
    const startMs = clock.monotonic();
    const observe = (error?: CriError): void =>
      countCall(metrics, operationTypes[name], clock.monotonic() - startMs, error);
    try {
      const sent: Init<object> = rule.prepare?.(request, requestTimeoutMs) ?? request;
      const timeoutMs = callOptions.timeoutMs ?? defaultTimeoutMs(rule, request, requestTimeoutMs);
      const response = await call(sent, { timeoutMs, signal: callOptions.signal });
      const problem = rule.problem?.(response, request);
      if (problem !== undefined) throw plainError(problem);
      observe();
      return response;
    } catch (cause) {
      const met = asCriError(cause);
      const error = rule.reword?.(met, request) ?? met;
      observe(error);
      if (rule.forgive?.(error)) return responseType.create();
      throw error;
    }
  };
}

function checkedStream(
  name: CriMethodName,
  rule: AnyRule,
  call: AnyStreamCall,
  { requestTimeoutMs, clock, metrics }: CheckOptions,
): AnyStreamCall {
  return async function* (request, callOptions = {}) {
    const startMs = clock.monotonic();
    const timeoutMs = callOptions.timeoutMs ?? defaultTimeoutMs(rule, request, requestTimeoutMs);
    let error: CriError | undefined;
    try {
      yield* call(request, { timeoutMs, signal: callOptions.signal });
    } catch (cause) {
      error = asCriError(cause);
      throw error;
    } finally {
      countCall(metrics, operationTypes[name], clock.monotonic() - startMs, error);
    }
  };
}

function defaultTimeoutMs(rule: AnyRule, request: object, requestTimeoutMs: number): number | undefined {
  return rule.timeoutMs === undefined ? requestTimeoutMs : rule.timeoutMs(request, requestTimeoutMs);
}
