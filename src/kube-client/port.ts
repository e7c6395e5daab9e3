/** The port to the Kubernetes API: what a node asks of it, typed by resource, whoever answers. */
import type { KubeList, KubeObject, ObjectMeta } from '../kube/types/index.js';
import type { ApiError } from './api-error.js';
import type { ObjectSubresource, PostedSubresource, Resource } from './resources.js';

/** More urgent requests overtake those that wait for the rate limit. */
export type RequestPriority = 'urgent' | 'normal' | 'background';

export interface ApiCallOptions {
  readonly signal?: AbortSignal;
  /** From passing the rate limit to the complete response. Default: the client's own limit. */
  readonly timeoutMs?: number;
  /** Default: `urgent` for leases and the status of nodes and pods, `normal` otherwise. */
  readonly priority?: RequestPriority;
}

export interface ObjectRef {
  /** Absent for cluster-scoped objects. */
  readonly namespace?: string;
  readonly name: string;
}

export interface GetOptions extends ApiCallOptions {
  /** `0` accepts what the server's cache has; absent: the newest. */
  readonly resourceVersion?: string;
  readonly subresource?: ObjectSubresource;
}

export interface ObjectSelection {
  /** Absent: all namespaces. */
  readonly namespace?: string;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
}

export interface ListOptions extends ApiCallOptions, ObjectSelection {
  /** The objects have only their metadata. */
  readonly metadataOnly?: boolean;
  readonly resourceVersion?: string;
  readonly limit?: number;
  readonly continue?: string;
}

export interface WriteOptions extends ApiCallOptions {
  readonly subresource?: ObjectSubresource;
  readonly fieldManager?: string;
}

export interface CreateOptions extends ApiCallOptions {
  /** Default: the object's. */
  readonly namespace?: string;
  readonly fieldManager?: string;
}

export type Patch =
  | { readonly type: 'merge'; readonly body: unknown }
  | { readonly type: 'strategic'; readonly body: unknown }
  | { readonly type: 'json'; readonly body: readonly JsonPatchOperation[] };

export type JsonPatchOperation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }
  | { readonly op: 'move' | 'copy'; readonly path: string; readonly from: string };

export interface DeleteOptions extends ApiCallOptions {
  /** Default: the object's. */
  readonly gracePeriodSeconds?: number;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly propagationPolicy?: 'Orphan' | 'Background' | 'Foreground';
}

export interface DeleteCollectionOptions extends ApiCallOptions, ObjectSelection {}

export interface WatchOptions extends ObjectSelection {
  readonly signal?: AbortSignal;
  /** Sends events after this version. Absent or `0`: first an ADDED for each existing object. */
  readonly resourceVersion?: string;
  /** The server ends the watch after this time. */
  readonly timeoutSeconds?: number;
  readonly allowBookmarks?: boolean;
  /**
   * First an ADDED for each object at a version not older than the given one, or at the newest without one, then a
   * bookmark that says so. A server without WatchList refuses it as invalid. Needs `allowBookmarks`.
   */
  readonly sendInitialEvents?: boolean;
}

export type WatchEvent<T> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  /** Everything up to this version has been sent. */
  | {
      readonly type: 'BOOKMARK';
      readonly resourceVersion: string;
      /** The objects that existed when the watch began have been sent. */
      readonly initialEventsEnd?: boolean;
    }
  /** The watch has ended; 410 means that the version is too old to continue from. */
  | { readonly type: 'ERROR'; readonly error: ApiError };

/** An object that the server has not seen: it may give it a name and gives it a UID. */
export type UnpostedObject<T extends KubeObject> = Omit<T, 'metadata'> & { metadata: ObjectMeta };

/**
 * Every call rejects with `ApiError` when the server rejected it, with `ApiUnreachable` when there was no
 * complete response, and with `Cancelled` when its signal was aborted.
 */
export interface KubeApi {
  /** Whether reflectors get their first objects by a watch instead of a list, as the gate WatchListClient says. */
  readonly streamsLists?: boolean;
  get<T extends KubeObject>(resource: Resource<T>, ref: ObjectRef, options?: GetOptions): Promise<T>;
  list<T extends KubeObject>(resource: Resource<T>, options?: ListOptions): Promise<KubeList<T>>;
  create<T extends KubeObject>(
    resource: Resource<T>,
    object: UnpostedObject<NoInfer<T>>,
    options?: CreateOptions,
  ): Promise<T>;
  update<T extends KubeObject>(resource: Resource<T>, object: NoInfer<T>, options?: WriteOptions): Promise<T>;
  patch<T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    patch: Patch,
    options?: WriteOptions,
  ): Promise<T>;
  /**
   * The deleted object, or the current one while its deletion waits; undefined when the server returns
   * neither.
   */
  delete<T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    options?: DeleteOptions,
  ): Promise<T | undefined>;
  /** Deletes what the selection names; how many that were is not told. */
  deleteCollection(resource: Resource, options?: DeleteCollectionOptions): Promise<void>;
  post<In, Out>(
    subresource: PostedSubresource<In, Out>,
    ref: ObjectRef,
    body: NoInfer<In>,
    options?: ApiCallOptions,
  ): Promise<Out>;
  /** Ends without an error when the server ends it; leaving the loop closes the connection. */
  watch<T extends KubeObject>(resource: Resource<T>, options?: WatchOptions): AsyncIterable<WatchEvent<T>>;
  /** The text at a path such as `/healthz`. */
  getText(path: string, options?: ApiCallOptions): Promise<string>;
}
