/** Watches of a server: which event a change is for a watcher, and when a watch ends. */
import { Cancelled, type Clock } from '../../async/index.js';
import type { KubeObject } from '../../kube/types/index.js';
import { clone } from '../../kube/values/deep-equal.js';
import { ApiError, ApiUnreachable } from '../../kube-client/api-error.js';
import type { WatchEvent, WatchOptions } from '../../kube-client/port.js';
import { apiVersionOf, qualifiedPlural, type Resource } from '../../kube-client/resources.js';
import { filterOf, type ObjectFilter } from './selectors.js';
import { tooLarge } from './server-errors.js';
import type { Storage, StorageChange } from './storage.js';

const bookmarkPeriodMs = 60_000;
const defaultTimeoutSeconds = 1800;

/** The event of a change for a watcher that sees only the objects of the filter. */
export function eventOf(change: StorageChange, filter: ObjectFilter): WatchEvent<KubeObject> | undefined {
  const saw = change.before !== undefined && filter(change.before);
  const sees = change.after !== undefined && filter(change.after);
  if (sees && change.after !== undefined) return { type: saw ? 'MODIFIED' : 'ADDED', object: change.after };
  if (!saw || change.before === undefined) return undefined;
  // An object that left the selection is sent as it was, at the version of the change.
  const resourceVersion = String(change.revision);
  if (change.before.metadata.resourceVersion === resourceVersion)
    return { type: 'DELETED', object: change.before };
  const metadata = { ...change.before.metadata, resourceVersion };
  return { type: 'DELETED', object: { ...change.before, metadata } };
}

/**
 * One reader of the changes of a resource. It holds the revision up to which it has read, and never an object that the
 * storage has forgotten: whoever reads too slowly for the history must list again.
 */
class Watcher {
  readonly resource: Resource;
  readonly #storage: Storage;
  /** Everything up to this revision was read, or was before the watch. */
  cursor: number;
  /** What is still to be told of the objects at the cursor; undefined when all was. */
  initial: KubeObject[] | undefined;
  /** A moment to tell of the revision has come. */
  bookmarkDue = false;
  /** Changes after this revision are not told any more. */
  lastRevision = Number.POSITIVE_INFINITY;
  error: ApiUnreachable | undefined;
  #wake: () => void = () => undefined;

  constructor(resource: Resource, storage: Storage, cursor: number, initial: KubeObject[] | undefined) {
    this.resource = resource;
    this.#storage = storage;
    this.cursor = cursor;
    this.initial = initial;
  }

  get isTooSlow(): boolean {
    return this.#storage.lacksChangesAfter(this.resource, this.cursor);
  }

  /** Called after each change of the storage. */
  changed(name: string, change: StorageChange): void {
    if (this.initial !== undefined && this.isTooSlow) this.initial = [];
    if (change.resource === name) this.wake();
  }

  end(error?: ApiUnreachable): void {
    this.lastRevision = Math.min(this.lastRevision, this.#storage.revision);
    this.error ??= error;
    this.wake();
  }

  wake(): void {
    const wake = this.#wake;
    this.#wake = () => undefined;
    wake();
  }

  woken(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

export class Watches {
  readonly #clock: Clock;
  readonly #storage: Storage;
  readonly #watchers = new Set<Watcher>();

  constructor(clock: Clock, storage: Storage) {
    this.#clock = clock;
    this.#storage = storage;
  }

  get open(): number {
    return this.#watchers.size;
  }

  /** Breaks the connections of all watches, or those of one resource. */
  cut(resource?: Resource): void {
    const name = resource === undefined ? undefined : qualifiedPlural(resource);
    for (const watcher of [...this.#watchers]) {
      if (name === undefined || qualifiedPlural(watcher.resource) === name)
        watcher.end(new ApiUnreachable('watch: connection reset by peer', 'unknown'));
    }
  }

  /** Ends the watches as the server does when their time is up. */
  end(): void {
    for (const watcher of [...this.#watchers]) watcher.end();
  }

  /** The objects are the stored ones, without their kind. */
  async *watch(
    resource: Resource,
    options: WatchOptions,
  ): AsyncGenerator<WatchEvent<KubeObject>, void, undefined> {
    const filter = filterOf(resource, options);
    const since = Number(options.resourceVersion || '0');
    const { revision } = this.#storage;
    const streamsList = options.sendInitialEvents === true;
    if (streamsList && since > revision) throw tooLarge(since, revision);
    if (!streamsList && since > 0 && since < this.#storage.compactedRevision(resource)) {
      yield { type: 'ERROR', error: this.#tooOld(resource, since) };
      return;
    }
    const tellsAll = since === 0 || streamsList;
    const initial = tellsAll ? this.#storage.list(resource).filter(filter).reverse() : undefined;
    const watcher = new Watcher(resource, this.#storage, tellsAll ? revision : since, initial);
    const name = qualifiedPlural(resource);
    const forget = this.#storage.listen((change) => watcher.changed(name, change));
    this.#watchers.add(watcher);
    const onAbort = (): void => watcher.wake();
    options.signal?.addEventListener('abort', onAbort, { once: true });
    const timers = this.#timers(options, watcher);
    try {
      for await (const event of this.#events(watcher, filter, streamsList, options.signal)) {
        if (options.signal?.aborted) throw new Cancelled();
        yield event;
      }
    } finally {
      forget();
      timers.cancel();
      this.#watchers.delete(watcher);
      options.signal?.removeEventListener('abort', onAbort);
    }
  }

  async *#events(
    watcher: Watcher,
    filter: ObjectFilter,
    streamsList: boolean,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<WatchEvent<KubeObject>, void, undefined> {
    const storage = this.#storage;
    const { resource } = watcher;
    for (;;) {
      if (signal?.aborted) throw new Cancelled();
      if (watcher.isTooSlow) {
        yield { type: 'ERROR', error: this.#tooOld(resource, watcher.cursor) };
        return;
      }
      const first = watcher.initial?.pop();
      if (first !== undefined) {
        yield { type: 'ADDED', object: first };
        continue;
      }
      if (watcher.initial !== undefined) {
        watcher.initial = undefined;
        if (streamsList)
          yield { type: 'BOOKMARK', resourceVersion: String(watcher.cursor), initialEventsEnd: true };
        continue;
      }
      const change = storage.changeAfter(resource, watcher.cursor);
      if (change !== undefined && change.revision <= watcher.lastRevision) {
        watcher.cursor = change.revision;
        const event = eventOf(change, filter);
        if (event !== undefined) yield event;
        continue;
      }
      const known = Math.min(storage.revision, watcher.lastRevision);
      watcher.cursor = Math.max(watcher.cursor, known);
      if (watcher.bookmarkDue) {
        watcher.bookmarkDue = false;
        yield { type: 'BOOKMARK', resourceVersion: String(known) };
        continue;
      }
      if (watcher.error !== undefined) throw watcher.error;
      if (watcher.lastRevision !== Number.POSITIVE_INFINITY) return;
      await watcher.woken();
    }
  }

  #tooOld(resource: Resource, since: number): ApiError {
    const message = `too old resource version: ${since} (${this.#storage.compactedRevision(resource)})`;
    return new ApiError({ code: 410, reason: 'Expired', message });
  }

  #timers(options: WatchOptions, watcher: Watcher): { cancel(): void } {
    const timeoutMs = (options.timeoutSeconds ?? defaultTimeoutSeconds) * 1000;
    const bookmark = (): void => {
      watcher.bookmarkDue = true;
      watcher.wake();
    };
    const deadline = this.#clock.setTimer(timeoutMs, () => {
      if (options.allowBookmarks === true) bookmark();
      watcher.end();
    });
    let periodic = { cancel: (): void => undefined };
    const arm = (): void => {
      periodic = this.#clock.setTimer(bookmarkPeriodMs, () => {
        bookmark();
        arm();
      });
    };
    if (options.allowBookmarks === true) arm();
    return {
      cancel: () => {
        deadline.cancel();
        periodic.cancel();
      },
    };
  }
}

/** A client's own copy of an event, with the kind and version of its object. */
export function copiedEvent<T extends KubeObject>(
  resource: Resource<T>,
  event: WatchEvent<KubeObject>,
): WatchEvent<T> {
  if (event.type === 'BOOKMARK' || event.type === 'ERROR') return event;
  const object = clone({ apiVersion: apiVersionOf(resource), kind: resource.kind, ...event.object });
  // Only objects of this resource are stored under its name.
  return { type: event.type, object: object as unknown as T };
}
