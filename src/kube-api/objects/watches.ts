/** Watches of a server: which event a change is for a watcher, and when a watch ends. */
import { Cancelled, Channel, type Clock } from '../../async/index.js';
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
/** A watcher with more pending events than this is cut off, as the server does. */
const bufferedEvents = 10_000;

/** The event of a change for a watcher that sees only the objects of the filter. */
export function eventOf(change: StorageChange, filter: ObjectFilter): WatchEvent<KubeObject> | undefined {
  const saw = change.before !== undefined && filter(change.before);
  const sees = change.after !== undefined && filter(change.after);
  if (sees && change.after !== undefined) return { type: saw ? 'MODIFIED' : 'ADDED', object: change.after };
  if (!saw || change.before === undefined) return undefined;
  // An object that left the selection is sent as it was, at the version of the change.
  const metadata = { ...change.before.metadata, resourceVersion: String(change.revision) };
  return { type: 'DELETED', object: { ...change.before, metadata } };
}

interface Watcher {
  readonly resource: string;
  readonly cut: (error: ApiUnreachable | undefined) => void;
}

type QueuedWatchEvent = WatchEvent<KubeObject> | { readonly type: 'CUT'; readonly error: ApiUnreachable };

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
      if (name === undefined || watcher.resource === name) {
        watcher.cut(new ApiUnreachable('watch: connection reset by peer', 'unknown'));
      }
    }
  }

  /** Ends the watches as the server does when their time is up. */
  end(): void {
    for (const watcher of [...this.#watchers]) watcher.cut(undefined);
  }

  async *watch<T extends KubeObject>(
    resource: Resource<T>,
    options: WatchOptions,
  ): AsyncGenerator<WatchEvent<T>, void, undefined> {
    const filter = filterOf(resource, options);
    const items = new Channel<QueuedWatchEvent>(bufferedEvents);
    const push = (item: QueuedWatchEvent): void => {
      if (!items.trySend(item)) items.close();
    };
    const since = Number(options.resourceVersion || '0');
    const bookmark = (): void => push({ type: 'BOOKMARK', resourceVersion: String(this.#storage.revision) });
    const tell = (change: StorageChange): void => {
      if (change.resource !== qualifiedPlural(resource) || change.revision <= since) return;
      const event = eventOf(change, filter);
      if (event !== undefined) push(event);
    };
    if (options.sendInitialEvents === true && since > this.#storage.revision)
      throw tooLarge(since, this.#storage.revision);
    if (options.sendInitialEvents !== true && since > 0 && since < this.#storage.compactedRevision)
      push({ type: 'ERROR', error: this.#tooOld(since) });
    else if (since === 0 || options.sendInitialEvents === true) {
      for (const object of this.#storage.list(resource).filter(filter)) push({ type: 'ADDED', object });
      if (options.sendInitialEvents === true)
        push({ type: 'BOOKMARK', resourceVersion: String(this.#storage.revision), initialEventsEnd: true });
    } else for (const change of this.#storage.changesAfter(resource, since)) tell(change);
    const forget = this.#storage.listen(tell);
    const watcher: Watcher = {
      resource: qualifiedPlural(resource),
      cut: (error) => {
        if (error !== undefined) push({ type: 'CUT', error });
        items.close();
      },
    };
    this.#watchers.add(watcher);
    const onAbort = (): void => items.close();
    options.signal?.addEventListener('abort', onAbort, { once: true });
    const timers = this.#timers(options, bookmark, () => items.close());
    try {
      for (;;) {
        const next = await items.receive();
        if (options.signal?.aborted) throw new Cancelled();
        if (next.done) return;
        if (next.value.type === 'CUT') throw next.value.error;
        yield named(resource, next.value);
        if (next.value.type === 'ERROR') return;
      }
    } finally {
      forget();
      timers.cancel();
      this.#watchers.delete(watcher);
      options.signal?.removeEventListener('abort', onAbort);
    }
  }

  #tooOld(since: number): ApiError {
    const message = `too old resource version: ${since} (${this.#storage.compactedRevision})`;
    return new ApiError({ code: 410, reason: 'Expired', message });
  }

  #timers(options: WatchOptions, bookmark: () => void, end: () => void): { cancel(): void } {
    const timeoutMs = (options.timeoutSeconds ?? defaultTimeoutSeconds) * 1000;
    const deadline = this.#clock.setTimer(timeoutMs, () => {
      if (options.allowBookmarks === true) bookmark();
      end();
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

/** The stored object with its kind and version; what is stored is never changed, so watchers may share it. */
function named<T extends KubeObject>(resource: Resource<T>, event: WatchEvent<KubeObject>): WatchEvent<T> {
  if (event.type === 'BOOKMARK' || event.type === 'ERROR') return event;
  const object = { apiVersion: apiVersionOf(resource), kind: resource.kind, ...event.object };
  // Only objects of this resource are stored under its name.
  return { type: event.type, object: object as unknown as T };
}

/** A client's own copy of an event. */
export function copiedEvent<T extends KubeObject>(event: WatchEvent<T>): WatchEvent<T> {
  if (event.type === 'BOOKMARK' || event.type === 'ERROR') return event;
  return { type: event.type, object: clone(event.object) };
}
