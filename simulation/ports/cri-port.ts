/** The line between one process of a kubelet and its runtime. */

import { linkedController, sleep } from '../../src/async/index.js';
import {
  type CallOptions,
  type CriCodeName,
  CriError,
  type CriMethodName,
  type CriRuntime,
  criMethods,
} from '../../src/cri/index.js';
import type { Director } from './director.js';
import { type KubeletProcess, untilDeath } from './process.js';

type AnyUnary = (request: object, options?: CallOptions) => Promise<object>;
type AnyStream = (request: object, options?: CallOptions) => AsyncIterable<object>;

/** Calls that only look. */
const looks =
  /^(list|stream|version|status|podSandboxStatus|containerStatus|imageStatus|imageFsInfo|runtime|getContainerEvents)/;
/** What a second call does not change; a client may repeat it. */
const repeatable = /^(stop|remove|update|pullImage)/;
/** Those that take time in the runtime. */
const waiting = /^(startContainer|stopContainer|execSync|exec|attach|portForward|pullImage)$/;

/** Told of each unary call when it reaches the runtime, or that it never does. */
export type CriWitness = (
  method: CriMethodName,
  request: object,
  reaches: boolean,
  /** When the kubelet made the call, which may be before it arrives. */
  askedMs: number,
) => void;

export function criPort(
  target: CriRuntime,
  process: KubeletProcess,
  director: Director,
  witness: CriWitness,
): CriRuntime {
  const methods = Object.entries(criMethods).map(([name, { serverStreaming }]) => {
    // The keys of the method table are exactly the methods of CriRuntime.
    const method = name as CriMethodName;
    return [
      method,
      serverStreaming
        ? criStream(method, target[method] as unknown as AnyStream, process, director)
        : criUnary(method, target[method] as unknown as AnyUnary, process, witness),
    ];
  });
  return Object.fromEntries(methods) as CriRuntime;
}

function criUnary(
  method: CriMethodName,
  target: AnyUnary,
  process: KubeletProcess,
  witness: CriWitness,
): AnyUnary {
  const isChange = !looks.test(method);
  const isRepeatable = !isChange || repeatable.test(method);
  const isWaiting = waiting.test(method);
  return (request, options) => {
    const askedMs = process.clock.monotonic();
    return process.call({
      port: 'cri',
      name: method,
      about: subjectOf(request),
      isChange,
      isRepeatable,
      signal: options?.signal,
      effect: (signal) => {
        witness(method, request, true, askedMs);
        if (!isWaiting) return target(request, options);
        const { controller, unlink } = linkedController(signal, process.ended);
        return target(request, { ...options, signal: controller.signal })
          .catch((error: unknown) => {
            // A runtime that is away does nothing, either.
            witness(method, request, false, askedMs);
            throw error;
          })
          .finally(unlink);
      },
      // A plan names codes of this port only.
      failure: (code) => {
        witness(method, request, false, askedMs);
        return new CriError(code as CriCodeName, `${method} fails by chance`);
      },
      lostAnswer: () => new CriError('Unavailable', 'error reading from server: EOF'),
      givenUp: () => {
        witness(method, request, false, askedMs);
        return options?.signal?.aborted
          ? new CriError('Canceled', 'context canceled')
          : new CriError('DeadlineExceeded', 'context deadline exceeded');
      },
      // The client of a runtime ends each call at its deadline.
      ...(options?.timeoutMs === undefined ? {} : { patienceMs: options.timeoutMs }),
    });
  };
}

function criStream(
  method: CriMethodName,
  target: AnyStream,
  process: KubeletProcess,
  director: Director,
): AnyStream {
  const isEvents = method === 'getContainerEvents';
  return async function* (request, options) {
    const messages = untilDeath(process, options?.signal, (signal) =>
      target(request, { ...options, signal }),
    );
    for await (const message of messages) {
      process.journal.event('message', method, 0);
      const effect = isEvents ? director.verdict('cri', 'event', false).effect : undefined;
      if (effect !== undefined) process.journal.event('fault', effect.do, 0);
      if (effect?.do === 'fail' || effect?.do === 'hang')
        throw new CriError('Unavailable', 'error reading from server: EOF');
      if (effect?.do === 'lose') continue;
      if (effect?.do === 'delay' || effect?.do === 'late')
        await sleep(process.clock, effect.ms, options?.signal);
      yield message;
      if (effect?.do === 'twice') yield message;
    }
  };
}

/** What a request is about, as far as the names of its fields tell. */
function subjectOf(request: object): string {
  const { containerId, podSandboxId, config } = request as {
    readonly containerId?: unknown;
    readonly podSandboxId?: unknown;
    readonly config?: { readonly metadata?: { readonly name?: string; readonly attempt?: number } };
  };
  if (config?.metadata !== undefined) return `${config.metadata.name} ${config.metadata.attempt}`;
  if (typeof containerId === 'string') return containerId;
  return typeof podSandboxId === 'string' ? podSandboxId : '';
}
