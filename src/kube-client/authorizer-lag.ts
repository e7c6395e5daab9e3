/** Retries 403s while the node authorizer catches up. */
import { type Clock, sleep } from '../async/index.js';
import { isApiError, isForbidden, isNotFound } from './api-error.js';
import type { KubeApi, WatchEvent } from './port.js';

/**
 * A node may read what its pods refer to, and the authorizer learns of the references in its own time, often
 * after the node has seen the pod. Short enough to succeed for callers that wait a second.
 */
const waitsMs: readonly number[] = [50, 100, 200, 400];

/**
 * For a token request the server looks up the pod in its own cache, which may also be behind the node. That
 * cache says `pod` in its error where the API itself says `pods`, whose 404 is final.
 */
function isUnheardOf(error: unknown): boolean {
  return isNotFound(error) && isApiError(error) && error.details?.kind === 'pod';
}

/**
 * The same API, with reads and posts such as token requests retried while the authorizer lags. Other
 * writes are not retried.
 */
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
    ...(api.streamsLists === undefined ? {} : { streamsLists: api.streamsLists }),
    get: (resource, ref, options) => patiently(options?.signal, () => api.get(resource, ref, options)),
    list: (resource, options) => patiently(options?.signal, () => api.list(resource, options)),
    post: (subresource, ref, body, options) =>
      patiently(options?.signal, () => api.post(subresource, ref, body, options)),
    create: (resource, object, options) => api.create(resource, object, options),
    update: (resource, object, options) => api.update(resource, object, options),
    patch: (resource, ref, patch, options) => api.patch(resource, ref, patch, options),
    delete: (resource, ref, options) => api.delete(resource, ref, options),
    deleteCollection: (resource, options) => api.deleteCollection(resource, options),
    watch: (resource, options) =>
      options?.sendInitialEvents === true
        ? patientWatch(patiently, () => api.watch(resource, options), options.signal)
        : api.watch(resource, options),
    getText: (path, options) => api.getText(path, options),
  };
}

/** A watch that begins with all objects takes the place of a list, so its beginning is retried like one. */
async function* patientWatch<T>(
  patiently: <R>(signal: AbortSignal | undefined, ask: () => Promise<R>) => Promise<R>,
  watch: () => AsyncIterable<WatchEvent<T>>,
  signal: AbortSignal | undefined,
): AsyncGenerator<WatchEvent<T>, void, undefined> {
  const { events, first } = await patiently(signal, async () => {
    const begun = watch()[Symbol.asyncIterator]();
    return { events: begun, first: await begun.next() };
  });
  try {
    for (let next = first; next.done !== true; next = await events.next()) yield next.value;
  } finally {
    await events.return?.();
  }
}
