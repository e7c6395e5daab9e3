/** An object that is watched from its first reference to its last, except while nobody reads it. */
import { errorText, linkedController, type TaskGroup, TimedOut, withTimeout } from '../../../async/index.js';
import { type KubeObject, ObjectNotFound } from '../../../kube/index.js';
import { Informer, isUnreachable } from '../../../kube-client/index.js';
import { type HeldObject, type HeldObjectOptions, kindWord } from './held-object.js';

export interface WatchedObjectOptions<T extends KubeObject> extends HeldObjectOptions<T> {
  readonly tasks: TaskGroup;
  readonly random?: () => number;
  /** Called when it differs from when it was last seen. */
  readonly onChange: () => void;
  /** Called once when watching begins to fail, other than for a lost connection. */
  readonly onProblem: (message: string) => void;
}

const firstListLimitMs = 1_000;

export class WatchedObject<T extends KubeObject & { immutable?: boolean }> implements HeldObject<T> {
  readonly #options: WatchedObjectOptions<T>;
  #watch: { readonly informer: Informer<T>; readonly end: () => void } | undefined;
  /** An immutable object stays as first read, even when it is deleted. */
  #frozen: T | undefined;
  #seenVersion: string | undefined;
  #readMs: number;
  /** Since the last list or watch that worked. */
  #failing: 'no' | 'silently' | 'told' = 'no';

  constructor(options: WatchedObjectOptions<T>) {
    this.#options = options;
    this.#readMs = options.clock.monotonic();
    this.#start();
  }

  get isWatching(): boolean {
    return this.#watch !== undefined;
  }

  async read(signal: AbortSignal | undefined): Promise<T> {
    const { clock, resource, namespace, name } = this.#options;
    if (this.#frozen !== undefined) return this.#frozen;
    this.#readMs = clock.monotonic();
    const { informer } = this.#watch ?? this.#start();
    await this.#firstList(informer, signal);
    const object = informer.get({ namespace, name });
    if (object === undefined) throw new ObjectNotFound(kindWord(resource), name);
    if (object.immutable === true) {
      this.#frozen = object;
      this.#stop();
    }
    return object;
  }

  registered(): void {
    // The watch already reports changes.
  }

  /** Ends the watch when nobody read the object for this long; the next read starts it again. */
  stopIfUnread(idleMs: number): void {
    // While the API is unreachable, a dropped copy could not be fetched again.
    if (this.#failing !== 'no') return;
    if (this.#watch === undefined || !this.#watch.informer.hasSynced) return;
    if (this.#options.clock.monotonic() - this.#readMs > idleMs) this.#stop();
  }

  close(): void {
    this.#stop();
  }

  async #firstList(informer: Informer<T>, signal: AbortSignal | undefined): Promise<void> {
    if (informer.hasSynced) return;
    const { clock, resource } = this.#options;
    try {
      await withTimeout(clock, firstListLimitMs, signal, (limited) => informer.synced(limited));
    } catch (cause) {
      if (!(cause instanceof TimedOut)) throw cause;
      throw new Error(`failed to sync ${kindWord(resource)} cache: timed out waiting for the condition`, {
        cause,
      });
    }
  }

  #start(): { readonly informer: Informer<T>; readonly end: () => void } {
    const { api, clock, resource, namespace, name, tasks, random, onProblem } = this.#options;
    this.#failing = 'no';
    const informer: Informer<T> = new Informer<T>({
      api,
      clock,
      resource,
      namespace,
      fieldSelector: `metadata.name=${name}`,
      ...(random === undefined ? {} : { random }),
      onUpdate: () => this.#updated(informer),
      onProblem: (error) => {
        if (this.#failing === 'told') return;
        this.#failing = isUnreachable(error) ? 'silently' : 'told';
        if (this.#failing === 'silently') return;
        onProblem(`${kindWord(resource)} ${namespace}/${name} cannot be watched: ${errorText(error)}`);
      },
      onRecovered: () => {
        this.#failing = 'no';
      },
    });
    const { controller, unlink } = linkedController(tasks.signal);
    tasks.start(`watching ${kindWord(resource)} ${namespace}/${name}`, () =>
      informer.run(controller.signal).finally(unlink),
    );
    this.#watch = { informer, end: () => controller.abort() };
    return this.#watch;
  }

  #stop(): void {
    this.#watch?.end();
    this.#watch = undefined;
  }

  #updated(informer: Informer<T>): void {
    const { namespace, name, onChange } = this.#options;
    const version = informer.get({ namespace, name })?.metadata.resourceVersion ?? '';
    const before = this.#seenVersion;
    this.#seenVersion = version;
    if (before !== undefined && before !== version) onChange();
  }
}
