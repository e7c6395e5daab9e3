/** Deadlines and cancellation of calls into an in-process runtime, reported as gRPC does. */
import { setMaxListeners } from 'node:events';
import { type Clock, errorText, isCancelled, linkedController } from '../async/index.js';
import { type CallOptions, CriError } from '../cri/index.js';

export interface CallScope {
  /** Aborted with the CriError that the caller gets. */
  readonly signal: AbortSignal;
  /** Must be called when the call is over. */
  readonly close: () => void;
}

/** `connection` is aborted when the runtime goes away. */
export function callScope(
  clock: Clock,
  options: CallOptions | undefined,
  connection: AbortSignal,
): CallScope {
  const { controller, unlink } = linkedController(connection);
  // A call may wait for many containers at once.
  setMaxListeners(0, controller.signal);
  const onCancel = (): void => controller.abort(canceled());
  if (options?.signal?.aborted) onCancel();
  options?.signal?.addEventListener('abort', onCancel, { once: true });
  const timer =
    options?.timeoutMs === undefined
      ? undefined
      : clock.setTimer(options.timeoutMs, () =>
          controller.abort(new CriError('DeadlineExceeded', 'context deadline exceeded')),
        );
  return {
    signal: controller.signal,
    close: () => {
      timer?.cancel();
      options?.signal?.removeEventListener('abort', onCancel);
      unlink();
    },
  };
}

/** Runs the work, and responds at once if the call ends before the work does. */
export async function withinScope<T>(
  scope: CallScope,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { signal } = scope;
  let onAbort: () => void = () => {};
  const ended = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([work(signal), ended]);
  } catch (error) {
    throw callError(error, signal);
  } finally {
    signal.removeEventListener('abort', onAbort);
    scope.close();
  }
}

export function canceled(): CriError {
  return new CriError('Canceled', 'context canceled');
}

/** Maps an error of the work for the caller: calls reject with `CriError` only. */
export function callError(error: unknown, signal?: AbortSignal): CriError {
  if (error instanceof CriError) return error;
  if (isCancelled(error) && signal?.reason instanceof CriError) return signal.reason;
  return new CriError('Internal', errorText(error), { cause: error });
}
