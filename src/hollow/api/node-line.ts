/** One node's line to the API server: it can be cut, and then nothing gets through in either direction. */
import { setMaxListeners } from 'node:events';
import { Cancelled, linkedController } from '../../async/index.js';
import type { KubeList, KubeObject } from '../../kube/index.js';
import {
  type ApiCallOptions,
  ApiUnreachable,
  type CreateOptions,
  type DeleteCollectionOptions,
  type DeleteOptions,
  type GetOptions,
  type KubeApi,
  type ListOptions,
  type ObjectRef,
  type Patch,
  type PostedSubresource,
  type Resource,
  type UnpostedObject,
  type WatchEvent,
  type WatchOptions,
  type WriteOptions,
} from '../../kube-client/index.js';
import type { SharedApi } from './shared-api.js';

/** Whether the node is cut off; the clients of a node share one. */
export class LineSwitch {
  #cut = newController();

  get isCut(): boolean {
    return this.#cut.signal.aborted;
  }

  /** Aborted when the line is cut; another one after it was restored. */
  get signal(): AbortSignal {
    return this.#cut.signal;
  }

  cut(): void {
    this.#cut.abort();
  }

  restore(): void {
    if (this.isCut) this.#cut = newController();
  }
}

/** Every watch of the node listens to it. */
function newController(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}

export class NodeLine implements KubeApi {
  /** Watches that begin with all objects are what the shared ones can serve. */
  readonly streamsLists = true;
  readonly #api: KubeApi;
  readonly #shared: SharedApi | undefined;
  readonly #line: LineSwitch;

  /** Without `shared` every watch is the node's own. */
  constructor(api: KubeApi, line: LineSwitch, shared: SharedApi | undefined) {
    this.#api = api;
    this.#line = line;
    this.#shared = shared;
  }

  get<T extends KubeObject>(resource: Resource<T>, ref: ObjectRef, options?: GetOptions): Promise<T> {
    return this.#through(() => this.#api.get(resource, ref, options));
  }

  list<T extends KubeObject>(resource: Resource<T>, options?: ListOptions): Promise<KubeList<T>> {
    return this.#through(() => this.#api.list(resource, options));
  }

  create<T extends KubeObject>(
    resource: Resource<T>,
    object: UnpostedObject<NoInfer<T>>,
    options?: CreateOptions,
  ): Promise<T> {
    return this.#through(() => this.#api.create(resource, object, options));
  }

  update<T extends KubeObject>(
    resource: Resource<T>,
    object: NoInfer<T>,
    options?: WriteOptions,
  ): Promise<T> {
    return this.#through(() => this.#api.update(resource, object, options));
  }

  patch<T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    patch: Patch,
    options?: WriteOptions,
  ): Promise<T> {
    return this.#through(() => this.#api.patch(resource, ref, patch, options));
  }

  delete<T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    options?: DeleteOptions,
  ): Promise<T | undefined> {
    return this.#through(() => this.#api.delete(resource, ref, options));
  }

  deleteCollection(resource: Resource, options?: DeleteCollectionOptions): Promise<void> {
    return this.#through(() => this.#api.deleteCollection(resource, options));
  }

  post<In, Out>(
    subresource: PostedSubresource<In, Out>,
    ref: ObjectRef,
    body: NoInfer<In>,
    options?: ApiCallOptions,
  ): Promise<Out> {
    return this.#through(() => this.#api.post(subresource, ref, body, options));
  }

  getText(path: string, options?: ApiCallOptions): Promise<string> {
    return this.#through(() => this.#api.getText(path, options));
  }

  async *watch<T extends KubeObject>(
    resource: Resource<T>,
    options: WatchOptions = {},
  ): AsyncGenerator<WatchEvent<T>, void, undefined> {
    if (this.#line.isCut) throw cutOff('not-sent');
    const { controller, unlink } = linkedController(options.signal, this.#line.signal);
    const { signal } = controller;
    try {
      yield* this.#shared?.watch(resource, options, signal) ??
        this.#api.watch(resource, { ...options, signal });
    } catch (error) {
      // The end of the line is not what the node asked for.
      if (error instanceof Cancelled && options.signal?.aborted !== true) throw cutOff('unknown');
      throw error;
    } finally {
      unlink();
    }
  }

  /** An answer that comes when the line is cut does not reach the node. */
  async #through<T>(call: () => Promise<T>): Promise<T> {
    if (this.#line.isCut) throw cutOff('not-sent');
    const { signal } = this.#line;
    const outcome = await call();
    if (signal.aborted) throw cutOff('unknown');
    return outcome;
  }
}

function cutOff(unanswered: ApiUnreachable['unanswered']): ApiUnreachable {
  return new ApiUnreachable('the node is cut off from the API server', unanswered);
}
