/** Rights that the server learns of a moment after the node: what it refuses at first is asked for again soon. */
import { type Clock, sleep } from '../async/index.js';
import { isApiError, isForbidden, isNotFound } from './api-error.js';
import type { KubeApi } from './port.js';

/**
 * A node may read what its pods refer to, and the server sees who refers to what in its own time: often after the node
 * has heard of the pod. Short enough that who waits a second for an answer gets one.
 */
const waitsMs: readonly number[] = [50, 100, 200, 400];

/**
 * The pod that a token is asked for is looked up in the server's own copy of all pods, which may be behind the node, too.
 * That copy calls it `pod` where the API itself says `pods`, whose no is final.
 */
function isUnheardOf(error: unknown): boolean {
  return isNotFound(error) && isApiError(error) && error.details?.kind === 'pod';
}

/** The same API, except that it does not take the first no of a question for the last. Writes are not questions. */
export function withAuthorizerLagRetry(api: KubeApi, clock: Clock): KubeApi {
  const patiently = async <T>(signal: AbortSignal | undefined, ask: () => Promise<T>): Promise<T> => {
    for (const waitMs of waitsMs) {
      try {
        return await ask();
      } catch (error) {
        if (!isForbidden(error) && !isUnheardOf(error)) throw error;
      }
      await sleep(clock, waitMs, signal);
    }
    return await ask();
  };
  return {
    get: (resource, ref, options) => patiently(options?.signal, () => api.get(resource, ref, options)),
    list: (resource, options) => patiently(options?.signal, () => api.list(resource, options)),
    post: (subresource, ref, body, options) =>
      patiently(options?.signal, () => api.post(subresource, ref, body, options)),
    create: (resource, object, options) => api.create(resource, object, options),
    update: (resource, object, options) => api.update(resource, object, options),
    patch: (resource, ref, patch, options) => api.patch(resource, ref, patch, options),
    delete: (resource, ref, options) => api.delete(resource, ref, options),
    watch: (resource, options) => api.watch(resource, options),
    getText: (path, options) => api.getText(path, options),
  };
}
