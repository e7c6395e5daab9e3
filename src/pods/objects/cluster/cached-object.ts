/** An object that is fetched again when its copy is older than a given time. */
import { withTimeout } from '../../../async/index.js';
import { type KubeObject, ObjectNotFound } from '../../../kube/index.js';
import { fetchObject, type HeldObject, type HeldObjectOptions } from './held-object.js';

export interface CachedObjectOptions<T extends KubeObject> extends HeldObjectOptions<T> {
  /** How long a response stays valid. */
  readonly ttlMs: () => number;
}

type CachedObjectState<T> =
  | { readonly kind: 'object'; readonly object: T; readonly atMs: number }
  | { readonly kind: 'missing'; readonly error: ObjectNotFound; readonly atMs: number };

const fetchLimitMs = 30_000;

export class CachedObject<T extends KubeObject> implements HeldObject<T> {
  readonly #options: CachedObjectOptions<T>;
  #known: CachedObjectState<T> | undefined;
  /** One request serves all concurrent readers. */
  #fetching: Promise<CachedObjectState<T>> | undefined;
  #registrations = 0;

  constructor(options: CachedObjectOptions<T>) {
    this.#options = options;
  }

  async read(signal: AbortSignal | undefined): Promise<T> {
    const { clock, ttlMs } = this.#options;
    let known = this.#known;
    if (known === undefined || clock.monotonic() - known.atMs >= ttlMs()) {
      const fetching = this.#fetching ?? this.#startFetching();
      // The request goes on for the others when one of its readers gives up.
      known = await withTimeout(clock, fetchLimitMs, signal, () => fetching);
    }
    if (known.kind === 'missing') throw known.error;
    return known.object;
  }

  /** The pod may have come because of a change, which it must see. */
  registered(): void {
    this.#registrations++;
    this.#known = undefined;
    this.#fetching = undefined;
  }

  close(): void {
    this.registered();
  }

  #startFetching(): Promise<CachedObjectState<T>> {
    const fetching = this.#fetch().finally(() => {
      if (this.#fetching === fetching) this.#fetching = undefined;
    });
    this.#fetching = fetching;
    return fetching;
  }

  async #fetch(): Promise<CachedObjectState<T>> {
    const { clock } = this.#options;
    const old = this.#known;
    const registrations = this.#registrations;
    try {
      // Only the first response must be the newest; later ones may come from the server's cache.
      const object = await fetchObject(this.#options, old?.kind === 'object' ? { resourceVersion: '0' } : {});
      const newest = old?.kind === 'object' && isOlder(object, old.object) ? old.object : object;
      return this.#keep(registrations, { kind: 'object', object: newest, atMs: clock.monotonic() });
    } catch (error) {
      if (error instanceof ObjectNotFound)
        return this.#keep(registrations, { kind: 'missing', error, atMs: clock.monotonic() });
      // The old copy is better than nothing while the API is unreachable.
      if (old?.kind === 'object') return old;
      throw error;
    }
  }

  /** A response to a request from before a registration is not kept beyond it. */
  #keep(registrations: number, known: CachedObjectState<T>): CachedObjectState<T> {
    if (this.#registrations === registrations) this.#known = known;
    return known;
  }
}

function isOlder(a: KubeObject, b: KubeObject): boolean {
  const [versionA = '', versionB = ''] = [a.metadata.resourceVersion, b.metadata.resourceVersion];
  // Versions of another object under the same name are unrelated.
  if (a.metadata.uid !== b.metadata.uid) return false;
  return /^\d+$/.test(versionA) && /^\d+$/.test(versionB) && BigInt(versionA) < BigInt(versionB);
}
