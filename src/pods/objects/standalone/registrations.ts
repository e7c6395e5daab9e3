/** Which pods refer to which objects. */
import { claimReference, type Pod, podReferences, type StandaloneObjectKind } from '../../../kube/index.js';
import { type ObjectIdentity, objectKey } from './object-index.js';

/** `ConfigMap shop/settings` */
function referenceKey(kind: StandaloneObjectKind, namespace: string, name: string): string {
  return `${kind} ${objectKey(namespace, name)}`;
}

/** References are counted by pod: an object is registered while any pod refers to it. */
export class Registrations {
  readonly #keysByPod = new Map<string, ReadonlySet<string>>();
  readonly #podsByKey = new Map<string, Set<string>>();

  /** Registering a pod again replaces its references. */
  register(pod: Pod): void {
    this.#replace(pod.metadata.uid, references(pod));
  }

  unregister(pod: Pod): void {
    this.#replace(pod.metadata.uid, new Set());
  }

  has(kind: StandaloneObjectKind, namespace: string, name: string): boolean {
    return this.#podsByKey.has(referenceKey(kind, namespace, name));
  }

  /** The UIDs of the pods that refer to the object; for a persistent volume, all pods with a claim. */
  podsOf({ kind, namespace, name }: ObjectIdentity): string[] {
    if (kind !== 'PersistentVolume')
      return [...(this.#podsByKey.get(referenceKey(kind, namespace, name)) ?? [])];
    return [...this.#keysByPod]
      .filter(([, keys]) => [...keys].some((key) => key.startsWith('PersistentVolumeClaim ')))
      .map(([uid]) => uid);
  }

  #replace(uid: string, keys: ReadonlySet<string>): void {
    for (const key of this.#keysByPod.get(uid) ?? []) {
      if (keys.has(key)) continue;
      const pods = this.#podsByKey.get(key);
      pods?.delete(uid);
      if (pods?.size === 0) this.#podsByKey.delete(key);
    }
    if (keys.size === 0) this.#keysByPod.delete(uid);
    else this.#keysByPod.set(uid, keys);
    for (const key of keys) {
      const pods = this.#podsByKey.get(key) ?? new Set();
      pods.add(uid);
      this.#podsByKey.set(key, pods);
    }
  }
}

function references(pod: Pod): Set<string> {
  const namespace = pod.metadata.namespace;
  const { configMaps, secrets } = podReferences(pod);
  const keys = new Set<string>();
  for (const name of configMaps) keys.add(referenceKey('ConfigMap', namespace, name));
  for (const name of secrets) keys.add(referenceKey('Secret', namespace, name));
  for (const volume of pod.spec.volumes ?? []) {
    const claim = claimReference(pod, volume);
    if (claim !== undefined) keys.add(referenceKey('PersistentVolumeClaim', namespace, claim.name));
  }
  return keys;
}
