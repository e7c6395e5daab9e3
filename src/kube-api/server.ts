/** The API of one node: every verb on every kind that it serves, whoever asks and by whatever transport. */
import { type Clock, systemClock } from '../async/index.js';
import type { KubeList, KubeObject } from '../kube/types/index.js';
import { clone } from '../kube/values/deep-equal.js';
import { ApiError } from '../kube-client/api-error.js';
import type {
  DeleteOptions,
  ListOptions,
  ObjectRef,
  ObjectSelection,
  Patch,
  WatchEvent,
  WatchOptions,
} from '../kube-client/port.js';
import { apiVersionOf, qualifiedPlural, type Resource, resources } from '../kube-client/resources.js';
import { CreateReadiness } from './kinds/create-readiness.js';
import { kindRules } from './kinds/kind-rules.js';
import { servedKinds } from './kinds/kinds.js';
import type { ServiceAllocator } from './kinds/network/service-allocator.js';
import type { ServedKind } from './kinds/served-kind.js';
import { StoredUpkeep } from './kinds/upkeep.js';
import { kubeApiLimits } from './limits.js';
import { DurableWrites, type KeepChange } from './objects/durable-writes.js';
import { ObjectServer } from './objects/object-server.js';
import { filterOf } from './objects/selectors.js';
import { storageFull, tooLarge } from './objects/server-errors.js';
import { Storage } from './objects/storage.js';
import { Watches } from './objects/watches.js';
import type { ObjectWrite } from './objects/write-rules.js';

export interface ServedApiOptions {
  readonly clock?: Clock;
  /** Holds what an earlier process stored. */
  readonly storage?: Storage;
  readonly kinds?: readonly ServedKind[];
  /** Who gives Services their addresses; absent: they keep those that clients give them. */
  readonly serviceAddresses?: ServiceAllocator;
  /** Absent: nothing is kept beyond the process. */
  readonly keep?: KeepChange;
}

const { objectsPerKind, creationBytes } = kubeApiLimits;

export class ServedApi {
  readonly clock: Clock;
  readonly kinds: readonly ServedKind[];
  readonly storage: Storage;
  readonly objects: ObjectServer;
  readonly #watches: Watches;
  readonly #upkeep: StoredUpkeep;
  readonly #readiness: CreateReadiness;
  readonly #writes: DurableWrites;

  constructor({
    clock = systemClock,
    storage = new Storage(),
    kinds = servedKinds,
    serviceAddresses,
    keep = () => Promise.resolve(),
  }: ServedApiOptions = {}) {
    this.clock = clock;
    this.storage = storage;
    this.kinds = kinds;
    this.objects = new ObjectServer(clock, storage, kindRules({ kinds, storage, serviceAddresses }));
    this.#watches = new Watches(clock, storage);
    this.#upkeep = new StoredUpkeep(clock, storage, this.objects);
    this.#readiness = new CreateReadiness(clock, storage, kinds);
    const stored = kinds.map(({ resource }) => resource);
    this.#writes = new DurableWrites(storage, stored, keep);
  }

  /** How many watches are open. */
  get openWatches(): number {
    return this.#watches.open;
  }

  /** Ends all watches, as before a stop. */
  endWatches(): void {
    this.#watches.end();
  }

  get<T extends KubeObject>(resource: Resource<T>, ref: ObjectRef): T {
    return this.objects.existing(resource, ref);
  }

  list<T extends KubeObject>(
    resource: Resource<T>,
    options: ListOptions & { readonly resourceVersionMatch?: string } = {},
  ): KubeList<T> {
    const { limit, continue: token, resourceVersionMatch } = options;
    if (resource.plural === resources.events.plural) this.#upkeep.dropEvents();
    const wanted = Number(options.resourceVersion || '0');
    const { revision } = this.storage;
    if (wanted > revision) throw tooLarge(wanted, revision);
    const from = token ? readToken(token) : undefined;
    const at = from?.revision ?? (resourceVersionMatch === 'Exact' ? wanted : revision);
    const all = at === revision ? this.storage.list(resource) : this.storage.listAt(resource, at);
    if (all === undefined) throw expired(at);
    const matches = all.filter(filterOf(resource, options));
    const rest = from === undefined ? matches : matches.filter((object) => keyIn(object) > from.after);
    const page = limit === undefined || limit <= 0 ? rest : rest.slice(0, limit);
    const last = page.at(-1);
    const remaining = rest.length - page.length;
    const next =
      remaining > 0 && last !== undefined ? writeToken({ revision: at, after: keyIn(last) }) : undefined;
    return {
      apiVersion: apiVersionOf(resource),
      kind: `${resource.kind}List`,
      metadata: {
        resourceVersion: String(at),
        ...(next === undefined ? {} : { continue: next, remainingItemCount: remaining }),
      },
      // Only objects of this resource are stored under its name.
      items: page as T[],
    };
  }

  async create<T extends KubeObject>(
    resource: Resource<T>,
    object: T,
    namespace: string | undefined,
    write: ObjectWrite = {},
  ): Promise<T> {
    await this.#readiness.wait(resource, object, namespace);
    return this.#written(resource, () => {
      this.#refuseFull(resource);
      return this.objects.create(resource, object, namespace, write);
    });
  }

  async update<T extends KubeObject>(resource: Resource<T>, object: T, write: ObjectWrite = {}): Promise<T> {
    const updated = await this.#written(resource, () => this.objects.update(resource, object, write));
    await this.#writes.keptAsRead(updated);
    return updated;
  }

  async patch<T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    patch: Patch,
    write: ObjectWrite = {},
  ): Promise<T> {
    const patched = await this.#written(resource, () => this.objects.patch(resource, ref, patch, write));
    await this.#writes.keptAsRead(patched);
    return patched;
  }

  async apply<T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    config: T,
    write: ObjectWrite,
  ): Promise<{ readonly object: T; readonly isNew: boolean }> {
    if (!this.objects.has(resource, ref)) await this.#readiness.wait(resource, config, ref.namespace);
    const applied = await this.#written(resource, () => {
      if (!this.objects.has(resource, ref)) this.#refuseFull(resource);
      return this.objects.apply(resource, ref, config, write);
    });
    await this.#writes.keptAsRead(applied.object);
    return applied;
  }

  async delete<T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    options: DeleteOptions = {},
    write: ObjectWrite = {},
  ): Promise<T> {
    const deleted = await this.#written(resource, () => this.objects.delete(resource, ref, options, write));
    await this.#writes.keptAsRead(deleted);
    return deleted;
  }

  async deleteCollection<T extends KubeObject>(
    resource: Resource<T>,
    selection: ObjectSelection,
    options: DeleteOptions = {},
    write: ObjectWrite = {},
  ): Promise<KubeList<T>> {
    const items = await this.#written(resource, () =>
      this.storage
        .list(resource)
        .filter(filterOf(resource, selection))
        .map(({ metadata: { name = '', namespace } }) => {
          const ref = namespace === undefined ? { name } : { name, namespace };
          return this.objects.delete(resource, ref, options, write);
        }),
    );
    return {
      apiVersion: apiVersionOf(resource),
      kind: `${resource.kind}List`,
      metadata: { resourceVersion: String(this.storage.revision) },
      items,
    };
  }

  /** The objects are the stored ones, without their kind: whoever changes them copies them first. */
  watch(
    resource: Resource,
    options: WatchOptions = {},
  ): AsyncGenerator<WatchEvent<KubeObject>, void, undefined> {
    return this.#watches.watch(resource, options);
  }

  /** Resolves when all that the work changed is kept. */
  #written<T>(resource: Resource, work: () => T): Promise<T> {
    return this.#writes.during(() => {
      const result = work();
      this.#upkeep.afterWrite(resource);
      return result;
    });
  }

  #refuseFull(resource: Resource): void {
    if (this.storage.count(resource) >= objectsPerKind) throw full(resource);
    if (this.storage.bytes >= creationBytes) throw storageFull();
  }
}

/** An object with its kind and version, as clients get it. */
export function named<T extends KubeObject>(resource: Resource<T>, object: T): T {
  return { apiVersion: apiVersionOf(resource), kind: resource.kind, ...object };
}

/** A client's own copy. */
export function copied<T extends KubeObject>(resource: Resource<T>, object: T): T {
  return clone(named(resource, object));
}

interface ListPosition {
  readonly revision: number;
  /** The key of the last object that was given out. */
  readonly after: string;
}

function keyIn({ metadata: { namespace, name = '' } }: KubeObject): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

function writeToken({ revision, after }: ListPosition): string {
  return Buffer.from(JSON.stringify([revision, after])).toString('base64url');
}

function readToken(token: string): ListPosition {
  try {
    const value: unknown = JSON.parse(Buffer.from(token, 'base64url').toString());
    if (Array.isArray(value) && Number.isSafeInteger(value[0]) && typeof value[1] === 'string')
      return { revision: Number(value[0]), after: value[1] };
  } catch {
    // Not a token of ours: told below.
  }
  throw new ApiError({ code: 400, message: 'continue key is not valid' });
}

function expired(revision: number): ApiError {
  return new ApiError({
    code: 410,
    reason: 'Expired',
    message: `The provided continue parameter is too old: the objects as of resource version ${revision} are no longer known. Start the list again without the continue parameter.`,
  });
}

function full(resource: Resource): ApiError {
  return new ApiError({
    code: 403,
    reason: 'Forbidden',
    message: `${qualifiedPlural(resource)} are limited to ${objectsPerKind} on one node; delete some first`,
  });
}
