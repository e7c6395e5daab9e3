/**
 * The simulated implementation of the port: an API server in memory, on the test's clock, with faults on
 * demand.
 */
import { type Clock, throwIfCancelled } from '../../async/index.js';
import type { KubeList, KubeObject } from '../../kube/types/index.js';
import { clone } from '../../kube/values/deep-equal.js';
import type {
  ApiCallOptions,
  CreateOptions,
  DeleteCollectionOptions,
  DeleteOptions,
  GetOptions,
  KubeApi,
  ListOptions,
  ObjectRef,
  Patch,
  UnpostedObject,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from '../../kube-client/port.js';
import { apiVersionOf, type PostedSubresource, type Resource } from '../../kube-client/resources.js';
import { ObjectServer } from '../objects/object-server.js';
import { isReview, type Reviewers, respondToPost, respondToReview } from '../objects/posted.js';
import { filterOf } from '../objects/selectors.js';
import { tooLarge } from '../objects/server-errors.js';
import { Storage, type StorageSnapshot } from '../objects/storage.js';
import { copiedEvent, Watches } from '../objects/watches.js';
import { type ApiCall, ApiFaults } from './faults.js';

export interface SimulatedKubeApiOptions extends Reviewers {
  readonly clock: Clock;
  /** How many recent calls are kept. Default 10 000. */
  readonly rememberedCalls?: number;
  /** See `KubeApi.streamsLists`. Default: no. */
  readonly streamsLists?: boolean;
}

export class SimulatedKubeApi implements KubeApi {
  readonly streamsLists: boolean;
  readonly faults: ApiFaults;
  readonly #options: SimulatedKubeApiOptions;
  readonly #storage = new Storage();
  readonly #watches: Watches;
  readonly #calls: ApiCall[] = [];
  readonly #server: ObjectServer;

  constructor(options: SimulatedKubeApiOptions) {
    this.#options = options;
    this.streamsLists = options.streamsLists ?? false;
    this.faults = new ApiFaults(options.clock);
    this.#server = new ObjectServer(options.clock, this.#storage);
    this.#watches = new Watches(options.clock, this.#storage);
  }

  /** The recent calls, oldest first. */
  get calls(): readonly ApiCall[] {
    return this.#calls;
  }

  get openWatches(): number {
    return this.#watches.open;
  }

  /** Makes the server unreachable for all clients, or reachable again. */
  setReachable(reachable: boolean): void {
    this.faults.setReachable(reachable);
    if (!reachable) this.#watches.cut();
  }

  cutWatches(resource?: Resource): void {
    this.#watches.cut(resource);
  }

  /** Ends watches as if their time were up, without an error. */
  endWatches(): void {
    this.#watches.end();
  }

  /** Forgets old changes: a watch from before now gets 410. */
  compact(): void {
    this.#storage.compact();
  }

  snapshot(): StorageSnapshot {
    return this.#storage.snapshot();
  }

  /** As after a restore from a backup: older objects, older versions, no connection survives. */
  restore(snapshot: StorageSnapshot): void {
    this.#storage.restore(snapshot);
    this.#watches.cut();
  }

  get<T extends KubeObject>(resource: Resource<T>, ref: ObjectRef, options: GetOptions = {}): Promise<T> {
    return this.#call('get', resource, ref.name, options, () =>
      out(resource, this.#server.existing(resource, ref)),
    );
  }

  list<T extends KubeObject>(resource: Resource<T>, options: ListOptions = {}): Promise<KubeList<T>> {
    return this.#call('list', resource, undefined, options, () => {
      const wanted = Number(options.resourceVersion || '0');
      if (wanted > this.#storage.revision) throw tooLarge(wanted, this.#storage.revision);
      const found = this.#storage.list(resource).filter(filterOf(resource, options));
      const [, start = '0'] = (options.continue ?? '').split(':');
      const page = found.slice(
        Number(start),
        options.limit === undefined ? undefined : Number(start) + options.limit,
      );
      const end = Number(start) + page.length;
      return {
        apiVersion: apiVersionOf(resource),
        kind: `${resource.kind}List`,
        metadata: {
          resourceVersion: String(this.#storage.revision),
          ...(end < found.length
            ? { continue: `${this.#storage.revision}:${end}`, remainingItemCount: found.length - end }
            : {}),
        },
        // Only objects of this resource are stored under its name.
        items: page.map((object) =>
          clone(options.metadataOnly === true ? { metadata: object.metadata } : object),
        ) as T[],
      };
    });
  }

  create<T extends KubeObject>(
    resource: Resource<T>,
    unposted: UnpostedObject<T>,
    options: CreateOptions = {},
  ): Promise<T> {
    // The server completes the metadata that a new object lacks.
    const object = unposted as unknown as T;
    const namespace = options.namespace ?? object.metadata.namespace;
    return this.#call('create', resource, object.metadata.name, options, () =>
      isReview(resource)
        ? respondToReview(resource, object, this.#options)
        : out(resource, this.#server.create(resource, object, namespace)),
    );
  }

  update<T extends KubeObject>(resource: Resource<T>, object: T, options: WriteOptions = {}): Promise<T> {
    return this.#call('update', resource, object.metadata.name, options, () =>
      out(resource, this.#server.update(resource, object, options)),
    );
  }

  patch<T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    patch: Patch,
    options: WriteOptions = {},
  ): Promise<T> {
    return this.#call('patch', resource, ref.name, options, () =>
      out(resource, this.#server.patch(resource, ref, patch, options)),
    );
  }

  delete<T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    options: DeleteOptions = {},
  ): Promise<T | undefined> {
    return this.#call('delete', resource, ref.name, options, () =>
      out(resource, this.#server.delete(resource, ref, options)),
    );
  }

  deleteCollection(resource: Resource, options: DeleteCollectionOptions = {}): Promise<void> {
    return this.#call('deleteCollection', resource, options.fieldSelector, options, () => {
      for (const { metadata } of this.#storage.list(resource).filter(filterOf(resource, options))) {
        const { name = '', namespace } = metadata;
        this.#server.delete(resource, namespace === undefined ? { name } : { name, namespace }, {});
      }
    });
  }

  post<In, Out>(
    subresource: PostedSubresource<In, Out>,
    ref: ObjectRef,
    body: NoInfer<In>,
    options: ApiCallOptions = {},
  ): Promise<Out> {
    const call = { ...options, subresource: subresource.name };
    // Each branch returns what its own subresource promises.
    return this.#call(
      'post',
      subresource.of,
      ref.name,
      call,
      () => respondToPost(this.#server, subresource.name, ref, body) as Out,
    );
  }

  async *watch<T extends KubeObject>(
    resource: Resource<T>,
    options: WatchOptions = {},
  ): AsyncGenerator<WatchEvent<T>, void, undefined> {
    const events = await this.#call('watch', resource, undefined, options, () =>
      this.#watches.watch(resource, options),
    );
    for await (const event of events) yield copiedEvent(resource, event);
  }

  getText(path: string, options: ApiCallOptions = {}): Promise<string> {
    const call = { verb: 'getText', resource: '', subresource: undefined, name: path } as const;
    return this.#respond(call, options.signal, () => 'ok');
  }

  #call<T>(
    verb: ApiCall['verb'],
    resource: Resource,
    name: string | undefined,
    options: ApiCallOptions & { readonly subresource?: string },
    work: () => T,
  ): Promise<T> {
    return this.#respond(
      { verb, resource: resource.plural, subresource: options.subresource, name },
      options.signal,
      work,
    );
  }

  async #respond<T>(call: ApiCall, signal: AbortSignal | undefined, work: () => T): Promise<T> {
    throwIfCancelled(signal);
    this.#calls.push(call);
    if (this.#calls.length > (this.#options.rememberedCalls ?? 10_000)) this.#calls.shift();
    const result = await this.faults.around(call, signal, work);
    throwIfCancelled(signal);
    return result;
  }
}

/** A client's own copy, with kind and version. */
function out<T extends KubeObject>(resource: Resource<T>, object: T): T {
  return { ...clone(object), apiVersion: apiVersionOf(resource), kind: resource.kind };
}
