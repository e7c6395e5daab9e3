/** Which pods refer to which objects. */
import { claimReference, type Pod, podReferences, type StandaloneObjectKind } from '../../../kube/index.js';
import { type ObjectIdentity, objectKey } from './object-index.js';

/** `ConfigMap shop/settings` */
function referenceKey(kind: StandaloneObjectKind, namespace: string, name: string): string {
  return `${kind} ${objectKey(namespace, name)}`;
}

interface RegisteredPod {
  readonly spec: Pod['spec'];
  readonly keys: ReadonlySet<string>;
}

/** References are counted by pod: an object is registered while any pod refers to it. */
export class Registrations {
  readonly #registered = new Map<string, RegisteredPod>();
  readonly #podsByKey = new Map<string, Set<string>>();

  /** Registering a pod again replaces its references. Returns whether an object is registered no more. */
  register(pod: Pod): boolean {
    // Each sync of a pod registers it.
    if (this.#registered.get(pod.metadata.uid)?.spec === pod.spec) return false;
    return this.#replace(pod, references(pod));
  }

  unregister(pod: Pod): boolean {
    return this.#replace(pod, new Set());
  }

  has(kind: StandaloneObjectKind, namespace: string, name: string): boolean {
    return this.#podsByKey.has(referenceKey(kind, namespace, name));
  }

  /** The UIDs of the pods that refer to the object; for a persistent volume, all pods with a claim. */
  podsOf({ kind, namespace, name }: ObjectIdentity): string[] {
    if (kind !== 'PersistentVolume')
      return [...(this.#podsByKey.get(referenceKey(kind, namespace, name)) ?? [])];
    return [...this.#registered]
      .filter(([, { keys }]) => [...keys].some((key) => key.startsWith('PersistentVolumeClaim ')))
      .map(([uid]) => uid);
  }

  #replace({ metadata: { uid }, spec }: Pod, keys: ReadonlySet<string>): boolean {
    let isDropped = false;
    for (const key of this.#registered.get(uid)?.keys ?? []) {
      if (keys.has(key)) continue;
      const pods = this.#podsByKey.get(key);
      pods?.delete(uid);
      if (pods?.size !== 0) continue;
      this.#podsByKey.delete(key);
      isDropped = true;
    }
    if (keys.size === 0) this.#registered.delete(uid);
    else this.#registered.set(uid, { spec, keys });
    for (const key of keys) {
      const pods = this.#podsByKey.get(key) ?? new Set();
      pods.add(uid);
      this.#podsByKey.set(key, pods);
    }
    return isDropped;
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
