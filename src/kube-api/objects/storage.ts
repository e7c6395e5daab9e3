/** A server's storage: objects by resource, one revision per change, and the recent changes. */
import type { KubeObject } from '../../kube/types/index.js';
import { qualifiedPlural, type Resource } from '../../kube-client/resources.js';

export interface StorageChange {
  readonly revision: number;
  readonly resource: string;
  /** Undefined when it was created. */
  readonly before: KubeObject | undefined;
  /** Undefined when it was removed. */
  readonly after: KubeObject | undefined;
}

export interface StorageSnapshot {
  readonly revision: number;
  readonly collections: ReadonlyMap<string, ReadonlyMap<string, KubeObject>>;
}

/** Each holds the object as it was before, so it is as large as the object. */
const rememberedChanges = 1_000;

/** Stored objects are never changed, only replaced; callers copy them before handing them out. */
export class Storage {
  #revision = 1;
  /** Changes up to this revision are forgotten. */
  #compacted = 0;
  #collections = new Map<string, Map<string, KubeObject>>();
  #changes: StorageChange[] = [];
  readonly #listeners = new Set<(change: StorageChange) => void>();

  get revision(): number {
    return this.#revision;
  }

  get compactedRevision(): number {
    return this.#compacted;
  }

  get(resource: Resource, key: string): KubeObject | undefined {
    return this.#collections.get(qualifiedPlural(resource))?.get(key);
  }

  count(resource: Resource): number {
    return this.#collections.get(qualifiedPlural(resource))?.size ?? 0;
  }

  /** In key order, as the API lists. */
  list(resource: Resource): KubeObject[] {
    const found = [...(this.#collections.get(qualifiedPlural(resource)) ?? new Map<string, KubeObject>())];
    return found.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
  }

  /** As it was at a revision; undefined when the changes since then are forgotten. */
  listAt(resource: Resource, revision: number): KubeObject[] | undefined {
    if (revision < this.#compacted || revision > this.#revision) return undefined;
    const objects = new Map(this.#collections.get(qualifiedPlural(resource)) ?? []);
    for (const { before, after } of this.changesAfter(resource, revision).reverse()) {
      const key = storageKey(before ?? after);
      if (before === undefined) objects.delete(key);
      else objects.set(key, before);
    }
    return [...objects].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
  }

  /** Stores what `make` returns for the new revision. */
  put<T extends KubeObject>(resource: Resource, key: string, make: (resourceVersion: string) => T): T {
    const before = this.get(resource, key);
    const object = make(String(++this.#revision));
    this.#collection(resource).set(key, object);
    this.#told({ revision: this.#revision, resource: qualifiedPlural(resource), before, after: object });
    return object;
  }

  /** Returns the deleted object with the revision of its removal. */
  remove<T extends KubeObject>(resource: Resource, key: string, object: T): T {
    this.#revision++;
    this.#collection(resource).delete(key);
    const gone = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#revision) } };
    this.#told({
      revision: this.#revision,
      resource: qualifiedPlural(resource),
      before: gone,
      after: undefined,
    });
    return gone;
  }

  /** Takes over what an earlier process stored, without telling listeners; revisions go on after `revision`. */
  load(revision: number, objects: Iterable<readonly [Resource, string, KubeObject]>): void {
    for (const [resource, key, object] of objects) this.#collection(resource).set(key, object);
    this.#revision = Math.max(this.#revision, revision);
    this.#compacted = this.#revision;
  }

  changesAfter(resource: Resource, revision: number): StorageChange[] {
    const name = qualifiedPlural(resource);
    return this.#changes.filter((change) => change.resource === name && change.revision > revision);
  }

  /** Returns a function that stops listening. */
  listen(listener: (change: StorageChange) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Forgets all changes so far; whoever asks for them must list again. */
  compact(): void {
    this.#compacted = this.#revision;
    this.#changes = [];
  }

  snapshot(): StorageSnapshot {
    const collections = new Map([...this.#collections].map(([name, objects]) => [name, new Map(objects)]));
    return { revision: this.#revision, collections };
  }

  /** Restores an earlier state, including its revision, as from a backup. */
  restore(snapshot: StorageSnapshot): void {
    this.#revision = snapshot.revision;
    this.#compacted = 0;
    this.#collections = new Map([...snapshot.collections].map(([name, objects]) => [name, new Map(objects)]));
    this.#changes = [];
  }

  #collection(resource: Resource): Map<string, KubeObject> {
    const name = qualifiedPlural(resource);
    const found = this.#collections.get(name) ?? new Map<string, KubeObject>();
    this.#collections.set(name, found);
    return found;
  }

  #told(change: StorageChange): void {
    this.#changes.push(change);
    if (this.#changes.length > rememberedChanges) {
      this.#compacted = this.#changes.shift()?.revision ?? this.#compacted;
    }
    for (const listener of this.#listeners) listener(change);
  }
}

/** The key of an object below its resource. */
function storageKey(object: KubeObject | undefined): string {
  const { namespace, name = '' } = object?.metadata ?? {};
  return namespace === undefined ? name : `${namespace}/${name}`;
}
