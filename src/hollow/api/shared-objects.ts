/** One watch of a kind of objects for many nodes: keeps the objects, and gives every node those that concern it. */
import { Cancelled, Channel, type Clock } from '../../async/index.js';
import type { KubeObject } from '../../kube/index.js';
import {
  ApiError,
  type KubeApi,
  Reflector,
  type Resource,
  type WatchEvent,
} from '../../kube-client/index.js';
import { hollowLimits } from '../limits.js';

export interface SharedObjectsOptions<T extends KubeObject> {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly random: () => number;
  readonly resource: Resource<T>;
  /** What is asked of the API server for all nodes together. */
  readonly fieldSelector?: string;
  /** Whom an object concerns; undefined: nobody here. */
  readonly ownerOf: (object: T) => string | undefined;
}

interface Reader<T> {
  readonly owner: string;
  readonly changes: Channel<WatchEvent<T>>;
  /** It missed a change, so it has to begin again. */
  isBehind: boolean;
}

export class SharedObjects<T extends KubeObject> {
  readonly #options: SharedObjectsOptions<T>;
  readonly #reflector: Reflector<T>;
  /** By owner, then by namespace and name. */
  readonly #objects = new Map<string, Map<string, T>>();
  readonly #readers = new Map<string, Set<Reader<T>>>();
  readonly #waiting = new Set<(outcome: unknown) => void>();
  #hasSynced = false;

  constructor(options: SharedObjectsOptions<T>) {
    this.#options = options;
    const { api, clock, random, resource, fieldSelector } = options;
    this.#reflector = new Reflector({
      api,
      clock,
      random,
      resource,
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
      // Whoever waits for the first list is told why there is none, and decides what to do about it.
      onProblem: (error) => this.#wake(error),
      sink: {
        replace: (objects) => this.#replace(objects),
        change: ({ type, object }) => this.#change(type, object),
      },
    });
  }

  /** How many watches of nodes this one serves. */
  get readers(): number {
    let count = 0;
    for (const readers of this.#readers.values()) count += readers.size;
    return count;
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#reflector.run(signal);
  }

  /** The objects of an owner and their changes, as a watch that begins with all of them. */
  async *watch(owner: string, signal: AbortSignal): AsyncGenerator<WatchEvent<T>, void, undefined> {
    await this.#synced(signal);
    const reader: Reader<T> = { owner, changes: new Channel(hollowLimits.waitingChanges), isBehind: false };
    const known = [...(this.#objects.get(owner)?.values() ?? [])];
    const resourceVersion = this.#reflector.resourceVersion ?? '';
    const readers = this.#readers.get(owner) ?? new Set();
    this.#readers.set(owner, readers.add(reader));
    try {
      for (const object of known) yield { type: 'ADDED', object };
      yield { type: 'BOOKMARK', resourceVersion, initialEventsEnd: true };
      while (!reader.isBehind) {
        const received = await reader.changes.receive(signal);
        if (received.done) return;
        yield received.value;
      }
      yield { type: 'ERROR', error: tooOld() };
    } finally {
      readers.delete(reader);
      if (readers.size === 0) this.#readers.delete(owner);
    }
  }

  /** Resolves with the first list; rejects when it failed. */
  #synced(signal: AbortSignal): Promise<void> {
    if (this.#hasSynced) return Promise.resolve();
    if (signal.aborted) return Promise.reject(new Cancelled());
    return new Promise((resolve, reject) => {
      const done = (error: unknown): void => {
        signal.removeEventListener('abort', onAbort);
        this.#waiting.delete(done);
        if (error === undefined) resolve();
        else reject(error);
      };
      const onAbort = (): void => done(new Cancelled());
      this.#waiting.add(done);
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  #wake(error?: unknown): void {
    for (const done of [...this.#waiting]) done(error);
  }

  /** A new list tells only its differences: nodes need not know that the watch behind theirs began anew. */
  #replace(objects: readonly T[]): void {
    const gone = new Map<string, T>();
    for (const known of this.#objects.values()) for (const [key, object] of known) gone.set(key, object);
    for (const object of objects) {
      const key = keyOf(object);
      const before = gone.get(key);
      gone.delete(key);
      if (before === undefined) this.#change('ADDED', object);
      else if (before.metadata.uid !== object.metadata.uid) {
        this.#change('DELETED', before);
        this.#change('ADDED', object);
      } else if (before.metadata.resourceVersion !== object.metadata.resourceVersion)
        this.#change('MODIFIED', object);
    }
    for (const object of gone.values()) this.#change('DELETED', object);
    this.#hasSynced = true;
    this.#wake();
  }

  #change(type: 'ADDED' | 'MODIFIED' | 'DELETED', given: T): void {
    const object = withoutManagedFields(given);
    const owner = this.#options.ownerOf(object);
    if (owner === undefined) return;
    const known = this.#objects.get(owner) ?? new Map<string, T>();
    if (type === 'DELETED') known.delete(keyOf(object));
    else known.set(keyOf(object), object);
    if (known.size > 0) this.#objects.set(owner, known);
    else this.#objects.delete(owner);
    for (const reader of this.#readers.get(owner) ?? []) {
      if (!reader.changes.trySend({ type, object })) reader.isBehind = true;
    }
  }
}

/** What a server says to a watch that it cannot continue. */
export function tooOld(): ApiError {
  return new ApiError({ code: 410, reason: 'Expired', message: 'the watch has to begin with all objects' });
}

/** No node reads them, and they are the largest part of many objects. */
function withoutManagedFields<T extends KubeObject>(object: T): T {
  if (object.metadata.managedFields === undefined) return object;
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function keyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace ?? ''}/${metadata.name ?? ''}`;
}
