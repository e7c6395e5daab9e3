/** The port to the Kubernetes API for parts in the same process: the agent and the controllers of a bare node. */
import { throwIfCancelled } from '../async/index.js';
import type { KubeList, KubeObject } from '../kube/types/index.js';
import { clone } from '../kube/values/deep-equal.js';
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
} from '../kube-client/port.js';
import type { PostedSubresource, Resource } from '../kube-client/resources.js';
import { copiedEvent } from './objects/watches.js';
import type { PostedResponder } from './posted/contracts.js';
import { copied, type ServedApi } from './server.js';

/** Everyone in the process may do everything; what is given out may be changed. */
export class LocalKubeApi implements KubeApi {
  readonly #api: ServedApi;
  readonly #posted: PostedResponder;

  constructor(api: ServedApi, posted: PostedResponder) {
    this.#api = api;
    this.#posted = posted;
  }

  get<T extends KubeObject>(resource: Resource<T>, ref: ObjectRef, options: GetOptions = {}): Promise<T> {
    return answered(options, () => copied(resource, this.#api.get(resource, ref)));
  }

  list<T extends KubeObject>(resource: Resource<T>, options: ListOptions = {}): Promise<KubeList<T>> {
    return answered(options, () => {
      const found = this.#api.list(resource, options);
      const items = found.items.map((object) =>
        // The rest of such an object is absent, as the caller asked.
        clone(options.metadataOnly === true ? ({ metadata: object.metadata } as T) : object),
      );
      return { ...found, items };
    });
  }

  create<T extends KubeObject>(
    resource: Resource<T>,
    unposted: UnpostedObject<T>,
    options: CreateOptions = {},
  ): Promise<T> {
    // The server completes the metadata that a new object lacks.
    const object = unposted as unknown as T;
    return answered(options, async () => {
      const review = await this.#posted.review(resource, object);
      if (review !== undefined) return review;
      const namespace = options.namespace ?? object.metadata.namespace;
      return copied(resource, await this.#api.create(resource, object, namespace, options));
    });
  }

  update<T extends KubeObject>(resource: Resource<T>, object: T, options: WriteOptions = {}): Promise<T> {
    return answered(options, async () => copied(resource, await this.#api.update(resource, object, options)));
  }

  patch<T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    patch: Patch,
    options: WriteOptions = {},
  ): Promise<T> {
    return answered(options, async () =>
      copied(resource, await this.#api.patch(resource, ref, patch, options)),
    );
  }

  delete<T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    options: DeleteOptions = {},
  ): Promise<T | undefined> {
    return answered(options, async () => copied(resource, await this.#api.delete(resource, ref, options)));
  }

  deleteCollection(resource: Resource, options: DeleteCollectionOptions = {}): Promise<void> {
    return answered(options, async () => void (await this.#api.deleteCollection(resource, options)));
  }

  post<In, Out>(
    subresource: PostedSubresource<In, Out>,
    ref: ObjectRef,
    body: NoInfer<In>,
    options: ApiCallOptions = {},
  ): Promise<Out> {
    return answered(options, () => this.#posted.post(subresource, ref, body));
  }

  async *watch<T extends KubeObject>(
    resource: Resource<T>,
    options: WatchOptions = {},
  ): AsyncGenerator<WatchEvent<T>, void, undefined> {
    for await (const event of this.#api.watch(resource, options)) yield copiedEvent(resource, event);
  }

  async getText(_path: string, options: ApiCallOptions = {}): Promise<string> {
    return answered(options, () => 'ok');
  }
}

async function answered<T>({ signal }: ApiCallOptions, work: () => T | Promise<T>): Promise<T> {
  throwIfCancelled(signal);
  const result = await work();
  throwIfCancelled(signal);
  return result;
}
