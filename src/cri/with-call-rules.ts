/** Builds the runtime as the kubelet calls it, from the method table and the rules of each call. */
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
  /** The ordinary deadline of a call ("T"). */
  readonly requestTimeoutMs: number;
  readonly clock: Clock;
  /** @default metrics that nobody reads */
  readonly metrics?: CriMetrics | undefined;
  /** Calls under way when it is aborted fail with Canceled; later ones do at once. */
  readonly signal?: AbortSignal;
  /**
   * The runtime ends every unary call at its `timeoutMs` and with its `signal`, as a gRPC client does, so that nothing
   * here watches over a call once more.
   * @default false
   */
  readonly runtimeEndsCalls?: boolean;
  /**
   * Uses the `Stream*` form of the list calls while the runtime has it.
   * @default false
   */
  readonly listStreaming?: boolean;
}

// The method tables give requests and responses their types at the edges of this file; inside, one
// piece of code serves all methods and knows them as objects only.
type AnyRule = CallRule<object, object>;
type CountedOptions = CallRulesOptions & { readonly metrics: CriMetrics };

/**
 * Every call ends within its deadline with DeadlineExceeded, and at once with Canceled when its signal or that of
 * the options aborts. A `timeoutMs` of the caller replaces the deadline.
 */
export function withCallRules(runtime: CriRuntime, given: CallRulesOptions): CriRuntime {
  const options: CountedOptions = { ...given, metrics: given.metrics ?? createCriMetrics() };
  // Each call under way listens.
  if (options.signal !== undefined) setMaxListeners(0, options.signal);
  const lists: Partial<CriRuntime> = options.listStreaming ? streamedLists(runtime) : {};
  const methods = Object.entries(criMethods).flatMap(([name, { serverStreaming, response }]) => {
    if (!isCriMethodName(name)) return [];
    // Each rule and each method belong to the name they are looked up by; which kind a method is stands in the table.
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
      if (rule.forgive?.(error)) return responseType.create();
      throw error;
    } finally {
      link?.unlink();
    }
  };
}

/** A call that ends when it should, whatever the one behind does. */
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
