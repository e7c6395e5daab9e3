/** A server's storage: objects by resource, one revision per change, and the recent changes. */
import type { KubeObject } from '../../kube/types/index.js';
import { qualifiedPlural, type Resource } from '../../kube-client/resources.js';
import { ChangeHistory, type StorageChange } from './change-history.js';

export type { StorageChange } from './change-history.js';

export interface StorageSnapshot {
  readonly revision: number;
  readonly collections: ReadonlyMap<string, ReadonlyMap<string, KubeObject>>;
}

/** Stored objects are never changed, only replaced; callers copy them before handing them out. */
export class Storage {
  #revision = 1;
  #collections = new Map<string, Map<string, KubeObject>>();
  /** Of each object as JSON; objects that are only remembered have theirs, too. */
  readonly #bytesOf = new WeakMap<KubeObject, number>();
  readonly #bytes = new Map<string, number>();
  readonly #history = new ChangeHistory(0);
  readonly #listeners = new Set<(change: StorageChange) => void>();

  get revision(): number {
    return this.#revision;
  }

  /** Of all objects as JSON. */
  get bytes(): number {
    return [...this.#bytes.values()].reduce((sum, bytes) => sum + bytes, 0);
  }

  /** Of all objects of a resource as JSON. */
  bytesOf(resource: Resource): number {
    return this.#bytes.get(qualifiedPlural(resource)) ?? 0;
  }

  /** Of a stored object as JSON. */
  sizeOf(object: KubeObject): number {
    const known = this.#bytesOf.get(object);
    if (known !== undefined) return known;
    const bytes = Buffer.byteLength(JSON.stringify(object));
    this.#bytesOf.set(object, bytes);
    return bytes;
  }

  /** Changes of the resource up to this revision are forgotten. */
  compactedRevision(resource: Resource): number {
    return this.#history.forgottenUpTo(qualifiedPlural(resource));
  }

  /** Whether a change of the resource after this revision is forgotten. */
  lacksChangesAfter(resource: Resource, revision: number): boolean {
    return this.#history.lacksAfter(qualifiedPlural(resource), revision);
  }

  get(resource: Resource, key: string): KubeObject | undefined {
    return this.#collections.get(qualifiedPlural(resource))?.get(key);
  }

  count(resource: Resource): number {
    return this.#collections.get(qualifiedPlural(resource))?.size ?? 0;
  }

  /** In key order, as the API lists. */
  list(resource: Resource): KubeObject[] {
    return inOrder(this.#collections.get(qualifiedPlural(resource)) ?? new Map());
  }

  /** As it was at a revision; undefined when the changes since then are forgotten. */
  listAt(resource: Resource, revision: number): KubeObject[] | undefined {
    if (revision < this.compactedRevision(resource) || revision > this.#revision) return undefined;
    const name = qualifiedPlural(resource);
    const objects = new Map(this.#collections.get(name) ?? []);
    for (const { before, after, replaced } of this.#history.after(name, revision).reverse()) {
      const key = storageKey(before ?? after);
      if (replaced === undefined) objects.delete(key);
      else objects.set(key, replaced);
    }
    return inOrder(objects);
  }

  /** Stores what `make` returns for the new revision. */
  put<T extends KubeObject>(resource: Resource, key: string, make: (resourceVersion: string) => T): T {
    const before = this.get(resource, key);
    const object = make(String(++this.#revision));
    this.#collection(resource).set(key, object);
    this.#grow(qualifiedPlural(resource), before, object);
    this.#told({
      revision: this.#revision,
      resource: qualifiedPlural(resource),
      before,
      replaced: before,
      after: object,
    });
    return object;
  }

  /** Returns the deleted object with the revision of its removal. */
  remove<T extends KubeObject>(resource: Resource, key: string, object: T): T {
    this.#revision++;
    const before = this.get(resource, key);
    this.#collection(resource).delete(key);
    this.#grow(qualifiedPlural(resource), before, undefined);
    const gone = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#revision) } };
    this.#told({
      revision: this.#revision,
      resource: qualifiedPlural(resource),
      before: gone,
      replaced: before,
      after: undefined,
    });
    return gone;
  }

  /** Takes over what an earlier process stored, without telling listeners; revisions go on after `revision`. */
  load(revision: number, objects: Iterable<readonly [Resource, string, KubeObject]>): void {
    for (const [resource, key, object] of objects) {
      this.#grow(qualifiedPlural(resource), this.get(resource, key), object);
      this.#collection(resource).set(key, object);
    }
    this.#revision = Math.max(this.#revision, revision);
    this.#history.reset(this.#revision);
  }

  /** The first change of the resource after a revision that is remembered. */
  changeAfter(resource: Resource, revision: number): StorageChange | undefined {
    return this.#history.next(qualifiedPlural(resource), revision);
  }

  /** All remembered changes of the resource after a revision, oldest first. */
  changesAfter(resource: Resource, revision: number): StorageChange[] {
    return this.#history.after(qualifiedPlural(resource), revision);
  }

  /** Returns a function that stops listening. */
  listen(listener: (change: StorageChange) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Forgets all changes so far; whoever asks for them must list again. */
  compact(): void {
    this.#history.forget(this.#revision);
  }

  snapshot(): StorageSnapshot {
    const collections = new Map([...this.#collections].map(([name, objects]) => [name, new Map(objects)]));
    return { revision: this.#revision, collections };
  }

  /** Restores an earlier state, including its revision, as from a backup. */
  restore(snapshot: StorageSnapshot): void {
    this.#revision = snapshot.revision;
    this.#history.reset(0);
    this.#collections = new Map([...snapshot.collections].map(([name, objects]) => [name, new Map(objects)]));
    this.#bytes.clear();
    for (const [name, objects] of this.#collections)
      for (const object of objects.values()) this.#grow(name, undefined, object);
  }

  #collection(resource: Resource): Map<string, KubeObject> {
    const name = qualifiedPlural(resource);
    const found = this.#collections.get(name) ?? new Map<string, KubeObject>();
    this.#collections.set(name, found);
    return found;
  }

  #grow(name: string, before: KubeObject | undefined, after: KubeObject | undefined): void {
    const grown =
      (after === undefined ? 0 : this.sizeOf(after)) - (before === undefined ? 0 : this.sizeOf(before));
    this.#bytes.set(name, (this.#bytes.get(name) ?? 0) + grown);
  }

  #told(change: StorageChange): void {
    this.#history.remember(change, change.before === undefined ? 0 : this.sizeOf(change.before));
    for (const listener of this.#listeners) listener(change);
  }
}

function inOrder(objects: ReadonlyMap<string, KubeObject>): KubeObject[] {
  return [...objects].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
}

/** The key of an object below its resource. */
function storageKey(object: KubeObject | undefined): string {
  const { namespace, name = '' } = object?.metadata ?? {};
  return namespace === undefined ? name : `${namespace}/${name}`;
}
