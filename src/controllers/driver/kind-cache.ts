/** The controllers' copy of all objects of one kind: by name, by namespace and by owner, with a call for each change. */
import { BoundedMap, type Clock } from '../../async/index.js';
import type { KubeObject } from '../../kube/index.js';
import {
  Informer,
  type InformerUpdate,
  type KubeApi,
  type ObjectRef,
  type Resource,
} from '../../kube-client/index.js';
import { controllerLimits } from '../limits.js';

/** `before` is absent for a new object, `after` for one that is gone. */
export type ObjectChange<T> =
  | { readonly before?: T | undefined; readonly after: T }
  | { readonly before: T; readonly after?: undefined };

export interface KindCacheOptions<T extends KubeObject> {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly resource: Resource<T>;
  readonly onProblem: (error: unknown, then: string) => void;
}

export class KindCache<T extends KubeObject> {
  readonly resource: Resource<T>;
  readonly #informer: Informer<T>;
  readonly #listeners: ((change: ObjectChange<T>) => void)[] = [];
  #objects = new Map<string, T>();
  readonly #byUid = new Map<string, T>();
  readonly #byNamespace = new Map<string, Map<string, T>>();
  readonly #byOwner = new Map<string, Map<string, T>>();
  readonly #deleted = new BoundedMap<string, true>({ maxEntries: controllerLimits.rememberedDeletions });

  constructor({ api, clock, resource, onProblem }: KindCacheOptions<T>) {
    this.resource = resource;
    this.#informer = new Informer<T>({
      api,
      clock,
      resource,
      onProblem,
      onUpdate: (update) => this.#update(update),
    });
  }

  /** The listener must not throw: it only takes note. */
  onChange(listener: (change: ObjectChange<T>) => void): void {
    this.#listeners.push(listener);
  }

  synced(signal: AbortSignal): Promise<void> {
    return this.#informer.synced(signal);
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#informer.run(signal);
  }

  get(ref: ObjectRef): T | undefined {
    return this.#objects.get(keyOf(ref));
  }

  byUid(uid: string): T | undefined {
    return this.#byUid.get(uid);
  }

  list(): readonly T[] {
    return [...this.#objects.values()];
  }

  inNamespace(namespace: string): readonly T[] {
    return [...(this.#byNamespace.get(namespace)?.values() ?? [])];
  }

  /** Objects with an owner reference to this UID, whether it is their controller or not. */
  ownedBy(uid: string): readonly T[] {
    return [...(this.#byOwner.get(uid)?.values() ?? [])];
  }

  /** Whether the copy has the object, or had it lately. */
  hasSeen(uid: string): boolean {
    return this.#byUid.has(uid) || this.#deleted.has(uid);
  }

  #update(update: InformerUpdate<T>): void {
    if (update.kind === 'changed') {
      const { type, object } = update.change;
      this.#take(keyOfObject(object), type === 'DELETED' ? undefined : object);
      return;
    }
    const listed = new Map(this.#informer.list().map((object) => [keyOfObject(object), object]));
    for (const key of [...this.#objects.keys()]) if (!listed.has(key)) this.#take(key, undefined);
    for (const [key, object] of listed) this.#take(key, object);
  }

  #take(key: string, after: T | undefined): void {
    const before = this.#objects.get(key);
    // An object of the same name with another UID is another one: the first is gone.
    if (before !== undefined && after !== undefined && before.metadata.uid !== after.metadata.uid) {
      this.#take(key, undefined);
      this.#take(key, after);
      return;
    }
    if (before !== undefined) this.#forget(key, before);
    if (after !== undefined) this.#remember(key, after);
    else if (before?.metadata.uid !== undefined) this.#deleted.set(before.metadata.uid, true);
    const change: ObjectChange<T> | undefined =
      after !== undefined ? { before, after } : before !== undefined ? { before } : undefined;
    if (change !== undefined) for (const listener of this.#listeners) listener(change);
  }

  #remember(key: string, object: T): void {
    const { uid, namespace = '', ownerReferences = [] } = object.metadata;
    this.#objects.set(key, object);
    if (uid !== undefined) this.#byUid.set(uid, object);
    indexed(this.#byNamespace, namespace).set(key, object);
    for (const owner of ownerReferences) indexed(this.#byOwner, owner.uid).set(key, object);
  }

  #forget(key: string, object: T): void {
    const { uid, namespace = '', ownerReferences = [] } = object.metadata;
    this.#objects.delete(key);
    if (uid !== undefined) this.#byUid.delete(uid);
    unindexed(this.#byNamespace, namespace, key);
    for (const owner of ownerReferences) unindexed(this.#byOwner, owner.uid, key);
  }
}

function indexed<T>(index: Map<string, Map<string, T>>, of: string): Map<string, T> {
  const found = index.get(of) ?? new Map<string, T>();
  index.set(of, found);
  return found;
}

function unindexed<T>(index: Map<string, Map<string, T>>, of: string, key: string): void {
  const found = index.get(of);
  found?.delete(key);
  if (found?.size === 0) index.delete(of);
}

/** `namespace/name`; the namespace of cluster-scoped objects is empty. */
export function keyOf({ namespace = '', name }: ObjectRef): string {
  return `${namespace}/${name}`;
}

export function keyOfObject(object: KubeObject): string {
  return keyOf(refOf(object));
}

export function refOf({ metadata: { name = '', namespace } }: KubeObject): ObjectRef {
  return namespace === undefined || namespace === '' ? { name } : { namespace, name };
}

export function refOfKey(key: string): ObjectRef {
  const [namespace = '', name = ''] = key.split('/');
  return namespace === '' ? { name } : { namespace, name };
}
