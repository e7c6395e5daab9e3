/** When pods became ready and when they were gone, as a watch on the API's side saw it: what a user waits for. */
import { isCancelled, systemClock } from '../../src/async/index.js';
import type { Pod } from '../../src/kube/index.js';
import { type KubeApi, Reflector, type ReflectorChange, resources } from '../../src/kube-client/index.js';
import { pollUntil } from '../../test/env/index.js';

/** Milliseconds of one clock; each moment is the first at which it was seen. */
export interface Moments {
  /** The pod itself was told of. */
  toldMs: number | undefined;
  readyMs: number | undefined;
  /** Its deletion was. */
  endingMs: number | undefined;
  goneMs: number | undefined;
}

/** Takes what a watch tells, with the time at which it was told. */
export class PodMoments {
  readonly #pods = new Map<string, Moments>();

  see({ type, object }: ReflectorChange<Pod>, nowMs: number): void {
    const moments = this.#of(object.metadata.name);
    moments.toldMs ??= nowMs;
    if (object.metadata.deletionTimestamp !== undefined) moments.endingMs ??= nowMs;
    if (type === 'DELETED') moments.goneMs ??= nowMs;
    else if (isReady(object)) moments.readyMs ??= nowMs;
  }

  /** After a watch that had to begin anew: what is not there any more is gone. */
  replace(pods: readonly Pod[], nowMs: number): void {
    const names = new Set(pods.map(({ metadata }) => metadata.name));
    for (const [name, moments] of this.#pods) if (!names.has(name)) moments.goneMs ??= nowMs;
    for (const pod of pods) this.see({ type: 'MODIFIED', object: pod }, nowMs);
  }

  /** In the order of the names; those that did not come to it yet are left out. */
  ready(names: readonly string[]): number[] {
    return names.flatMap((name) => this.#pods.get(name)?.readyMs ?? []);
  }

  gone(names: readonly string[]): number[] {
    return names.flatMap((name) => this.#pods.get(name)?.goneMs ?? []);
  }

  forget(names: readonly string[]): void {
    for (const name of names) this.#pods.delete(name);
  }

  /** Of one pod, kept up to date until it is gone. */
  life(name: string): Readonly<Moments> {
    return this.#of(name);
  }

  #of(name: string): Moments {
    const none = { toldMs: undefined, readyMs: undefined, endingMs: undefined, goneMs: undefined };
    const known = this.#pods.get(name) ?? none;
    this.#pods.set(name, known);
    return known;
  }
}

function isReady({ status }: Pod): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true;
}

/** Follows the pods of a namespace until it is stopped. */
export class PodWatch {
  readonly #moments = new PodMoments();
  readonly #stopped = new AbortController();
  readonly #run: Promise<void>;
  readonly #reflector: Reflector<Pod>;

  constructor(api: KubeApi, namespace: string) {
    this.#reflector = new Reflector({
      api,
      resource: resources.pods,
      namespace,
      clock: systemClock,
      sink: {
        replace: (pods) => this.#moments.replace(pods, performance.now()),
        change: (change) => this.#moments.see(change, performance.now()),
      },
    });
    this.#run = this.#reflector.run(this.#stopped.signal).catch((error: unknown) => {
      if (!isCancelled(error)) throw error;
    });
    // Whoever stops it hears of its failure.
    this.#run.catch(() => undefined);
  }

  async synced(): Promise<void> {
    await pollUntil('the pods are watched', () => (this.#reflector.hasSynced ? true : undefined), {
      timeoutMs: 30_000,
    });
  }

  /** In the order of the names, by `performance.now()`; kept up to date until they are gone. */
  lives(names: readonly string[]): readonly Readonly<Moments>[] {
    return names.map((name) => this.#moments.life(name));
  }

  /** When each became ready, by `performance.now()`. */
  allReady(names: readonly string[], detail: () => string): Promise<number[]> {
    return this.#all('ready', names, () => this.#moments.ready(names), detail);
  }

  async allGone(names: readonly string[], detail: () => string): Promise<number[]> {
    const gone = await this.#all('gone', names, () => this.#moments.gone(names), detail);
    this.#moments.forget(names);
    return gone;
  }

  #all(
    what: string,
    names: readonly string[],
    look: () => number[],
    detail: () => string,
  ): Promise<number[]> {
    return pollUntil(
      `${names.length} pods are ${what}`,
      () => {
        const moments = look();
        return moments.length === names.length ? moments : undefined;
      },
      {
        timeoutMs: 240_000,
        intervalMs: 20,
        detail: () => `${look().length} of ${names.length}\n${detail()}`,
      },
    );
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#run;
  }
}
