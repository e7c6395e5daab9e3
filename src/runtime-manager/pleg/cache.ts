/** The last observation of every pod, and a way to wait for one newer than a given time. */
import { Cancelled } from '../../async/index.js';
import { absentPodStatus, type ObservedPodStatus } from '../../cri/index.js';

interface CacheEntry {
  readonly status: ObservedPodStatus;
  readonly error: Error | undefined;
  readonly modifiedMs: number;
  observedMs: number;
}

interface CacheWaiter {
  readonly afterMs: number;
  readonly wake: () => void;
}

/** Times are monotonic milliseconds, taken just before the runtime call. */
export class PodCache {
  readonly #entries = new Map<string, CacheEntry>();
  readonly #waiters = new Map<string, Set<CacheWaiter>>();
  #globalMs: number | undefined;
  /** Pods that the last relist saw but did not read yet, with the global time that holds for them. */
  readonly #unread = new Map<string, number | undefined>();

  /** What is known now. A pod without an entry has an empty status and no error. */
  peek(uid: string): { readonly status: ObservedPodStatus } | { readonly error: Error } {
    const entry = this.#entries.get(uid);
    if (entry === undefined) return { status: absentPodStatus(uid) };
    return entry.error === undefined ? { status: entry.status } : { error: entry.error };
  }

  set(
    uid: string,
    outcome: { readonly status: ObservedPodStatus } | { readonly error: Error },
    observedMs: number,
  ): void {
    const [status, error] =
      'error' in outcome ? [absentPodStatus(uid), outcome.error] : [outcome.status, undefined];
    this.#entries.set(uid, { status, error, modifiedMs: observedMs, observedMs });
    this.#wake(uid, observedMs);
  }

  /** Notes that the pod was observed unchanged. Wakes its waiters even if there is no entry. */
  setObserved(uid: string, observedMs: number): void {
    const entry = this.#entries.get(uid);
    if (entry !== undefined) entry.observedMs = observedMs;
    this.#wake(uid, observedMs);
  }

  /** Forgets a pod that the runtime no longer has; wakes nobody. */
  delete(uid: string): void {
    this.#entries.delete(uid);
  }

  /**
   * Notes a relist of all pods. The entries of `unread` pods are older, so each keeps its own time until a
   * relist finds it read.
   */
  setGlobal(observedMs: number, unread: ReadonlySet<string> = new Set()): void {
    for (const uid of this.#unread.keys()) if (!unread.has(uid)) this.#unread.delete(uid);
    for (const uid of unread) if (!this.#unread.has(uid)) this.#unread.set(uid, this.#globalMs);
    this.#globalMs = observedMs;
    for (const uid of [...this.#waiters.keys()]) if (!unread.has(uid)) this.#wake(uid, observedMs);
  }

  /** Resolves with the first observation after the given time; rejects if observing failed. */
  async newerThan(uid: string, afterMs: number, signal?: AbortSignal): Promise<ObservedPodStatus> {
    if (!this.isNewer(uid, afterMs)) await this.#wait(uid, afterMs, signal);
    const known = this.peek(uid);
    if ('error' in known) throw known.error;
    return known.status;
  }

  /** The last good observation of each pod; undefined before the first relist. */
  statuses(): ObservedPodStatus[] | undefined {
    if (this.#globalMs === undefined) return undefined;
    return [...this.#entries.values()].filter(({ error }) => error === undefined).map(({ status }) => status);
  }

  /** How many calls are waiting. */
  get waiting(): number {
    let count = 0;
    for (const waiters of this.#waiters.values()) count += waiters.size;
    return count;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Whether the pod was observed after the given time, so that `newerThan` would resolve at once. */
  isNewer(uid: string, afterMs: number): boolean {
    const globalMs = this.#unread.has(uid) ? this.#unread.get(uid) : this.#globalMs;
    if (globalMs !== undefined && globalMs > afterMs) return true;
    const entry = this.#entries.get(uid);
    return entry !== undefined && (entry.modifiedMs > afterMs || entry.observedMs > afterMs);
  }

  #wait(uid: string, afterMs: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(new Cancelled());
        return;
      }
      const waiters = this.#waiters.get(uid) ?? new Set();
      this.#waiters.set(uid, waiters);
      const leave = (): void => {
        signal?.removeEventListener('abort', onAbort);
        waiters.delete(waiter);
        if (waiters.size === 0 && this.#waiters.get(uid) === waiters) this.#waiters.delete(uid);
      };
      const onAbort = (): void => {
        leave();
        reject(new Cancelled());
      };
      const waiter: CacheWaiter = {
        afterMs,
        wake: () => {
          leave();
          resolve();
        },
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      waiters.add(waiter);
    });
  }

  #wake(uid: string, observedMs: number): void {
    for (const waiter of [...(this.#waiters.get(uid) ?? [])]) if (waiter.afterMs <= observedMs) waiter.wake();
  }
}
