/** When something that failed is worth another try, as data that is made where the failure is known. */
import { isUnavailable } from '../cri/index.js';

export type Retry =
  /** Waiting is all there is to do, until this wall-clock time. */
  | { readonly reason: 'backOff'; readonly atMs: number }
  /** The runtime does not answer, as while it is restarted. */
  | { readonly reason: 'runtimeUnavailable' }
  | { readonly reason: 'error' };

/** What an error of a call means by itself, whatever its text says and its causes are. */
export function retryOf(error: unknown): Retry {
  return { reason: isUnavailable(error) ? 'runtimeUnavailable' : 'error' };
}

/** One retry for several failures: soon when the runtime is away, else when the first back-off ends. */
export function firstRetry(retries: readonly Retry[]): Retry {
  let first: Retry = { reason: 'error' };
  for (const retry of retries) {
    if (retry.reason === 'runtimeUnavailable') return retry;
    if (retry.reason === 'backOff' && !(first.reason === 'backOff' && first.atMs <= retry.atMs))
      first = retry;
  }
  return first;
}
