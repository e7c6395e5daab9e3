/**
 * The object store of a node without an API server: objects from manifests, under the rules of a cluster's
 * store.
 */
import { type Clock, TimedOut, withTimeout } from '../../../async/index.js';
import {
  bindingProblem,
  type ConfigMap,
  claimError,
  claimProblem,
  claimReference,
  ObjectNotFound,
  type ObjectStore,
  type PersistentVolume,
  type Pod,
  type Secret,
  type Volume,
  volumeGroup,
} from '../../../kube/index.js';
import { bindClaim, claimFromTemplate } from './claim-binding.js';
import {
  changedObjects,
  emptyIndex,
  indexObjects,
  type ObjectIdentity,
  type ObjectIndex,
  type ObjectSet,
  objectKey,
} from './object-index.js';
import { Registrations } from './registrations.js';

export interface StandaloneObjectChange extends ObjectIdentity {
  /** The registered pods that refer to the object. */
  readonly podUids: readonly string[];
}

export interface StandaloneObjectsOptions {
  readonly clock: Clock;
  /** Whether reads wait briefly until `markRead` is called, as during the first read of a directory. */
  readonly waits?: boolean;
}

const firstReadLimitMs = 1_000;

export class StandaloneObjects implements ObjectStore {
  readonly #clock: Clock;
  readonly #origins = new Map<string, ObjectSet>();
  readonly #registrations = new Registrations();
  readonly #listeners = new Set<(change: StandaloneObjectChange) => void>();
  /** Immutable objects as first read, by kind and key, while some pod refers to them. */
  readonly #immutables = new Map<string, ConfigMap | Secret>();
  #index: ObjectIndex = emptyIndex;
  #isRead: boolean;
  #markRead: () => void = () => {};
  readonly #firstRead: Promise<void>;

  constructor({ clock, waits = false }: StandaloneObjectsOptions) {
    this.#clock = clock;
    this.#isRead = !waits;
    this.#firstRead = new Promise((resolve) => {
      this.#markRead = resolve;
    });
  }

  /** Replaces everything that this origin (a file, a command line) gave before. */
  set(origin: string, objects: ObjectSet): void {
    this.#origins.set(origin, objects);
    this.#reindex();
  }

  remove(origin: string): void {
    if (this.#origins.delete(origin)) this.#reindex();
  }

  origins(): string[] {
    return [...this.#origins.keys()];
  }

  /** Call when everything was read at least once. */
  markRead(): void {
    this.#isRead = true;
    this.#markRead();
  }

  /** Reports every object that is new, changed or gone. The returned function unsubscribes. */
  onChange(listener: (change: StandaloneObjectChange) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  registerPod(pod: Pod): void {
    this.#registrations.register(pod);
    this.#dropUnregistered();
  }

  unregisterPod(pod: Pod): void {
    this.#registrations.unregister(pod);
    this.#dropUnregistered();
  }

  configMap(namespace: string, name: string, signal?: AbortSignal): Promise<ConfigMap> {
    return this.#read('ConfigMap', namespace, name, signal);
  }

  secret(namespace: string, name: string, signal?: AbortSignal): Promise<Secret> {
    return this.#read('Secret', namespace, name, signal);
  }

  /** The volume behind a pod's claim. Rejects with the reason why the pod cannot use it. */
  async resolve(
    pod: Pod,
    volume: Volume,
    signal: AbortSignal,
  ): Promise<{ persistentVolume: PersistentVolume; readOnly: boolean; extraGroup: number | undefined }> {
    const reference = claimReference(pod, volume);
    if (reference === undefined) throw new Error(`volume ${JSON.stringify(volume.name)} names no claim`);
    const { namespace, name, readOnly } = reference;
    await this.#waitForFirstRead('persistentvolumeclaim', signal);
    const given = this.#index.PersistentVolumeClaim.get(objectKey(namespace, name));
    const found = given ?? claimFromTemplate(pod, volume, reference);
    if (found === undefined) {
      const missing = new ObjectNotFound('persistentvolumeclaims', name);
      throw claimError(reference, `failed to fetch PVC from API server: ${missing.message}`, missing);
    }
    const { claim, persistentVolume } = bindClaim(found, this.#index.PersistentVolume.values());
    const problem = claimProblem(claim, pod, reference);
    if (problem !== undefined) throw problem;
    if (persistentVolume === undefined) {
      const volumeName = claim.spec.volumeName ?? '';
      const missing = new ObjectNotFound('persistentvolumes', volumeName);
      throw claimError(
        reference,
        `failed to fetch PV ${volumeName} from API server: ${missing.message}`,
        missing,
      );
    }
    const mismatch = bindingProblem(claim, persistentVolume);
    if (mismatch !== undefined) throw claimError(reference, mismatch);
    return { persistentVolume, readOnly, extraGroup: volumeGroup(persistentVolume) };
  }

  async #read<K extends 'ConfigMap' | 'Secret'>(
    kind: K,
    namespace: string,
    name: string,
    signal: AbortSignal | undefined,
  ): Promise<K extends 'ConfigMap' ? ConfigMap : Secret> {
    if (!this.#registrations.has(kind, namespace, name)) {
      throw new Error(`object ${JSON.stringify(namespace)}/${JSON.stringify(name)} not registered`);
    }
    await this.#waitForFirstRead(kind.toLowerCase(), signal);
    const key = objectKey(namespace, name);
    const object = this.#immutables.get(`${kind} ${key}`) ?? this.#index[kind].get(key);
    if (object === undefined) throw new ObjectNotFound(kind.toLowerCase(), name);
    if (object.immutable === true && this.#registrations.has(kind, namespace, name)) {
      this.#immutables.set(`${kind} ${key}`, object);
    }
    // Under this kind, both maps contain only objects of it.
    return object as K extends 'ConfigMap' ? ConfigMap : Secret;
  }

  async #waitForFirstRead(resource: string, signal: AbortSignal | undefined): Promise<void> {
    if (this.#isRead) return;
    try {
      await withTimeout(this.#clock, firstReadLimitMs, signal, () => this.#firstRead);
    } catch (error) {
      if (!(error instanceof TimedOut)) throw error;
      throw new Error(`failed to sync ${resource} cache: timed out waiting for the condition`, {
        cause: error,
      });
    }
  }

  #reindex(): void {
    const before = this.#index;
    this.#index = indexObjects(this.#origins);
    for (const identity of changedObjects(before, this.#index)) {
      const change = { ...identity, podUids: this.#registrations.podsOf(identity) };
      for (const listener of this.#listeners) listener(change);
    }
  }

  #dropUnregistered(): void {
    for (const kind of ['ConfigMap', 'Secret'] as const) {
      for (const key of this.#immutables.keys()) {
        if (!key.startsWith(`${kind} `)) continue;
        const [namespace = '', name = ''] = key.slice(kind.length + 1).split('/');
        if (!this.#registrations.has(kind, namespace, name)) this.#immutables.delete(key);
      }
    }
  }
}
