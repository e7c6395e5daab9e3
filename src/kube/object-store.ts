/**
 * The source of pods' ConfigMaps, Secrets and other named objects: the API in a cluster, manifests without
 * one.
 */

import type { Pod } from './types/index.js';
import type { ConfigMap, Secret } from './types/objects.js';

/** Thrown when an object does not exist; users see the message: `configmap "x" not found`. */
export class ObjectNotFound extends Error {
  override readonly name = 'ObjectNotFound';
  readonly kind: string;
  readonly objectName: string;

  constructor(kind: string, objectName: string) {
    super(`${kind} ${JSON.stringify(objectName)} not found`);
    this.kind = kind;
    this.objectName = objectName;
  }
}

/**
 * Objects by reference. A pod is registered while it may read; reading an object that no registered pod
 * refers to fails with `object "ns"/"name" not registered`. Reads give the freshest known object and may wait
 * briefly for the first one.
 */
export interface ObjectStore {
  registerPod(pod: Pod): void;
  unregisterPod(pod: Pod): void;
  configMap(namespace: string, name: string, signal?: AbortSignal): Promise<ConfigMap>;
  secret(namespace: string, name: string, signal?: AbortSignal): Promise<Secret>;
}
