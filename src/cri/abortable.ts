/** A runtime whose calls all end when their owner stops, whatever they wait for. */
import { setMaxListeners } from 'node:events';
import { linkedController } from '../async/index.js';
import { CriError } from './errors.js';
import { isPrompt } from './prompt.js';
import { type AnyStreamCall, type AnyUnaryCall, type CriRuntime, criMethods } from './runtime.js';

/** Calls under way when the signal is aborted fail with Canceled; later ones do at once. */
export function abortableCri(runtime: CriRuntime, signal: AbortSignal): CriRuntime {
  setMaxListeners(0, signal);
  const methods = Object.entries(criMethods).map(([name, { serverStreaming }]) => {
    // The method table and CriRuntime have the same names; which kind a method is stands in the table.
    const method = runtime[name as keyof CriRuntime] as unknown;
    return [
      name,
      serverStreaming
        ? abortableStream((method as AnyStreamCall).bind(runtime), signal)
        : abortableUnary((method as AnyUnaryCall).bind(runtime), signal, isPrompt(runtime)),
    ];
  });
  return Object.fromEntries(methods) as CriRuntime;
}

function abortableUnary(call: AnyUnaryCall, signal: AbortSignal, isPromptCall: boolean): AnyUnaryCall {
  return (request, options) => {
    if (isPromptCall && options?.signal === undefined) return call(request, { ...options, signal });
    return new Promise((resolve, reject) => {
      const canceled = (): CriError => new CriError('Canceled', 'context canceled', { cause: signal.reason });
      if (signal.aborted) {
        reject(canceled());
        return;
      }
      const link = options?.signal === undefined ? undefined : linkedController(options.signal);
      const onAbort = (): void => {
        link?.controller.abort();
        reject(canceled());
      };
      const done = (): void => {
        signal.removeEventListener('abort', onAbort);
        link?.unlink();
      };
      signal.addEventListener('abort', onAbort, { once: true });
      call(request, { ...options, signal: link?.controller.signal ?? signal }).then(
        (answer) => {
          done();
          resolve(answer);
        },
        (error: unknown) => {
          done();
          reject(error);
        },
      );
    });
  };
}

function abortableStream(call: AnyStreamCall, signal: AbortSignal): AnyStreamCall {
  return async function* (request, options) {
    const link = linkedController(signal);
    const own = options?.signal;
    const onAbort = (): void => link.controller.abort();
    own?.addEventListener('abort', onAbort, { once: true });
    if (own?.aborted) onAbort();
    try {
      yield* call(request, { ...options, signal: link.controller.signal });
    } finally {
      own?.removeEventListener('abort', onAbort);
      link.unlink();
    }
  };
}
