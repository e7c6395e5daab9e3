/** One copy of the objects of each kind, shared by all controllers: the API sees one watch for each. */
import type { Clock } from '../../async/index.js';
import type { KubeObject } from '../../kube/index.js';
import { type KubeApi, qualifiedPlural, type Resource } from '../../kube-client/index.js';
import { KindCache } from './kind-cache.js';

export interface ObjectCachesOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly onProblem: (resource: Resource, error: unknown, then: string) => void;
}

export class ObjectCaches {
  readonly #options: ObjectCachesOptions;
  readonly #caches = new Map<string, KindCache<KubeObject>>();

  constructor(options: ObjectCachesOptions) {
    this.#options = options;
  }

  /** The copy of the kind; every kind is asked for before the copies run. */
  of<T extends KubeObject>(resource: Resource<T>): KindCache<T> {
    const name = qualifiedPlural(resource);
    const known = this.#caches.get(name);
    // Only objects of this resource are kept under its name.
    if (known !== undefined) return known as unknown as KindCache<T>;
    const { api, clock, onProblem } = this.#options;
    const made = new KindCache<T>({
      api,
      clock,
      resource,
      onProblem: (error, then) => onProblem(resource, error, then),
    });
    this.#caches.set(name, made as unknown as KindCache<KubeObject>);
    return made;
  }

  all(): readonly KindCache<KubeObject>[] {
    return [...this.#caches.values()];
  }

  async synced(signal: AbortSignal): Promise<void> {
    for (const cache of this.all()) await cache.synced(signal);
  }
}
