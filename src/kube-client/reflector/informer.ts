/**
 * A local copy of all objects of a selection, kept up to date; readers use it instead of the server. What is the same in two
 * versions of an object is kept once, however many readers still hold the older one; nobody may change an object.
 */
import { Cancelled } from '../../async/index.js';
import type { KubeObject } from '../../kube/types/index.js';
import { sharingWith } from '../../kube/values/shared.js';
import type { ObjectRef } from '../port.js';
import { Reflector, type ReflectorChange, type ReflectorOptions } from './reflector.js';

export interface InformerOptions<T extends KubeObject> extends Omit<ReflectorOptions<T>, 'sink'> {
  /** The part of an object to keep. Default: all but the managed fields, which nothing here reads. */
  readonly keep?: (object: T) => T;
  /** Called after the copy took a list or a change; nothing more is read until it returns. */
  readonly onUpdate?: (update: InformerUpdate<T>, signal: AbortSignal) => void | Promise<void>;
}

export type InformerUpdate<T> =
  | { readonly kind: 'listed' }
  | { readonly kind: 'changed'; readonly change: ReflectorChange<T> };

/** The readers' view. */
export interface ObjectCache<T> {
  readonly hasSynced: boolean;
  get(ref: ObjectRef): T | undefined;
  list(): readonly T[];
}

export class Informer<T extends KubeObject> implements ObjectCache<T> {
  readonly #options: InformerOptions<T>;
  readonly #keep: (object: T) => T;
  #objects = new Map<string, T>();
  #hasSynced = false;
  readonly #waiting = new Set<() => void>();

  constructor(options: InformerOptions<T>) {
    this.#options = options;
    this.#keep = options.keep ?? withoutManagedFields;
  }

  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  get size(): number {
    return this.#objects.size;
  }

  get(ref: ObjectRef): T | undefined {
    return this.#objects.get(keyOf(ref));
  }

  list(): readonly T[] {
    return [...this.#objects.values()];
  }

  /** Resolves when the first list has arrived. */
  synced(signal?: AbortSignal): Promise<void> {
    if (this.#hasSynced) return Promise.resolve();
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(new Cancelled());
        return;
      }
      const done = (): void => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      };
      const onAbort = (): void => {
        this.#waiting.delete(done);
        reject(new Cancelled());
      };
      this.#waiting.add(done);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  run(signal: AbortSignal): Promise<void> {
    const sink = {
      replace: (objects: readonly T[]) => this.#replace(objects, signal),
      change: (change: ReflectorChange<T>) => this.#change(change, signal),
    };
    return new Reflector({ ...this.#options, sink }).run(signal);
  }

  async #replace(objects: readonly T[], signal: AbortSignal): Promise<void> {
    const before = this.#objects;
    this.#objects = new Map(
      objects.map((object) => {
        const key = keyOf(refOf(object));
        return [key, sharingWith(before.get(key), this.#keep(object))];
      }),
    );
    this.#hasSynced = true;
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
    await this.#options.onUpdate?.({ kind: 'listed' }, signal);
  }

  async #change({ type, object }: ReflectorChange<T>, signal: AbortSignal): Promise<void> {
    const key = keyOf(refOf(object));
    const kept = sharingWith(this.#objects.get(key), this.#keep(object));
    if (type === 'DELETED') this.#objects.delete(key);
    else this.#objects.set(key, kept);
    await this.#options.onUpdate?.({ kind: 'changed', change: { type, object: kept } }, signal);
  }
}

function withoutManagedFields<T extends KubeObject>(object: T): T {
  if (object.metadata.managedFields === undefined) return object;
  const { managedFields, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function refOf({ metadata: { name = '', namespace } }: KubeObject): ObjectRef {
  return namespace === undefined ? { name } : { namespace, name };
}

function keyOf({ namespace = '', name }: ObjectRef): string {
  return `${namespace}/${name}`;
}
