/**
 * The object store of a node in a cluster: the API's ConfigMaps and Secrets that registered pods refer to.
 */
import { type Clock, sleep, TaskGroup } from '../../../async/index.js';
import {
  type ConfigMap,
  type KubeObject,
  type ObjectStore,
  type Pod,
  podReferences,
  type Secret,
} from '../../../kube/index.js';
import { type KubeApi, type Resource, resources } from '../../../kube-client/index.js';
import type { Timeline } from '../../../timeline/index.js';
import { Registrations } from '../standalone/registrations.js';
import { CachedObject } from './cached-object.js';
import { fetchedObject, type HeldObject } from './held-object.js';
import { WatchedObject } from './watched-object.js';

/** How changes are detected, as configured. */
export type ChangeDetectionStrategy = 'Watch' | 'Cache' | 'Get';

export interface ApiObjectStoreOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly api: KubeApi;
  readonly strategy: ChangeDetectionStrategy;
  /** The pod sync period; an object unread for five times as long is no longer watched. */
  readonly syncFrequencyMs: number;
  /**
   * For the strategy Cache: the seconds of the node's annotation `node.alpha.kubernetes.io/ttl`. Default 60.
   */
  readonly ttlSeconds?: () => number | undefined;
  readonly random?: () => number;
}

export interface ApiObjectChange {
  readonly kind: 'ConfigMap' | 'Secret';
  readonly namespace: string;
  readonly name: string;
  /** The registered pods that refer to the object. */
  readonly podUids: readonly string[];
}

const idleCheckMs = 60_000;
const shortestIdleMs = 60_000;
const defaultTtlSeconds = 60;

type ClusterObjectKind = ApiObjectChange['kind'];

export class ApiObjectStore implements ObjectStore {
  readonly #options: ApiObjectStoreOptions;
  readonly #registrations = new Registrations();
  readonly #configMaps = new Map<string, HeldObject<ConfigMap>>();
  readonly #secrets = new Map<string, HeldObject<Secret>>();
  readonly #listeners = new Set<(change: ApiObjectChange) => void>();
  readonly #tasks: TaskGroup;
  #looksForIdle = false;

  constructor(options: ApiObjectStoreOptions) {
    this.#options = options;
    this.#tasks = new TaskGroup({
      onError: (task, error) =>
        options.timeline.record({ kind: 'problem', what: 'objects.watch', message: `${task} failed`, error }),
    });
  }

  /** The number of objects kept. */
  get size(): number {
    return this.#configMaps.size + this.#secrets.size;
  }

  registerPod(pod: Pod): void {
    const drops = this.#registrations.register(pod);
    const namespace = pod.metadata.namespace;
    const { configMaps, secrets } = podReferences(pod);
    for (const name of configMaps) {
      this.#hold('ConfigMap', this.#configMaps, resources.configMaps, namespace, name).registered();
    }
    for (const name of secrets)
      this.#hold('Secret', this.#secrets, resources.secrets, namespace, name).registered();
    if (drops) this.#dropUnregistered();
  }

  unregisterPod(pod: Pod): void {
    if (this.#registrations.unregister(pod)) this.#dropUnregistered();
  }

  configMap(namespace: string, name: string, signal?: AbortSignal): Promise<ConfigMap> {
    return read(this.#configMaps, namespace, name, signal);
  }

  secret(namespace: string, name: string, signal?: AbortSignal): Promise<Secret> {
    return read(this.#secrets, namespace, name, signal);
  }

  /** Reports changes of watched objects; the returned function unsubscribes. */
  onChange(listener: (change: ApiObjectChange) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Ends all watches. */
  async stop(): Promise<void> {
    await this.#tasks.stop();
  }

  #hold<T extends KubeObject & { immutable?: boolean }>(
    kind: ClusterObjectKind,
    held: Map<string, HeldObject<T>>,
    resource: Resource<T>,
    namespace: string,
    name: string,
  ): HeldObject<T> {
    const key = keyOf(namespace, name);
    const known = held.get(key);
    if (known !== undefined) return known;
    const object = this.#held(kind, resource, namespace, name);
    held.set(key, object);
    return object;
  }

  #held<T extends KubeObject & { immutable?: boolean }>(
    kind: ClusterObjectKind,
    resource: Resource<T>,
    namespace: string,
    name: string,
  ): HeldObject<T> {
    const { api, clock, strategy, ttlSeconds, random } = this.#options;
    const common = { api, clock, resource, namespace, name };
    switch (strategy) {
      case 'Get':
        return fetchedObject(common);
      case 'Cache':
        return new CachedObject({
          ...common,
          ttlMs: () => (ttlSeconds?.() ?? defaultTtlSeconds) * 1000,
        });
      case 'Watch':
        this.#lookForIdle();
        return new WatchedObject({
          ...common,
          tasks: this.#tasks,
          ...(random === undefined ? {} : { random }),
          onChange: () => this.#changed(kind, namespace, name),
          onProblem: (message) =>
            this.#options.timeline.record({ kind: 'problem', what: 'objects.watch', message, level: 'warn' }),
        });
    }
  }

  #changed(kind: ClusterObjectKind, namespace: string, name: string): void {
    const podUids = this.#registrations.podsOf({ kind, namespace, name });
    for (const listener of this.#listeners) listener({ kind, namespace, name, podUids });
  }

  #lookForIdle(): void {
    if (this.#looksForIdle) return;
    this.#looksForIdle = true;
    const { clock, syncFrequencyMs } = this.#options;
    const idleMs = Math.max(5 * syncFrequencyMs, shortestIdleMs);
    this.#tasks.start('looking for unread objects', async (signal) => {
      for (;;) {
        await sleep(clock, idleCheckMs, signal);
        for (const object of [...this.#configMaps.values(), ...this.#secrets.values()]) {
          if (object instanceof WatchedObject) object.stopIfUnread(idleMs);
        }
      }
    });
  }

  #dropUnregistered(): void {
    const drop = <T>(kind: ClusterObjectKind, held: Map<string, HeldObject<T>>): void => {
      for (const [key, object] of held) {
        const [namespace = '', name = ''] = key.split('/');
        if (this.#registrations.has(kind, namespace, name)) continue;
        object.close();
        held.delete(key);
      }
    };
    drop('ConfigMap', this.#configMaps);
    drop('Secret', this.#secrets);
  }
}

function keyOf(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

async function read<T>(
  held: ReadonlyMap<string, HeldObject<T>>,
  namespace: string,
  name: string,
  signal: AbortSignal | undefined,
): Promise<T> {
  const object = held.get(keyOf(namespace, name));
  if (object === undefined) {
    throw new Error(`object ${JSON.stringify(namespace)}/${JSON.stringify(name)} not registered`);
  }
  return object.read(signal);
}
