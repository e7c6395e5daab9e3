/** Reads of an object store that return undefined for a missing object. */
import { ObjectNotFound, type ObjectStore } from './object-store.js';
import type { ConfigMap, Secret } from './types/objects.js';

export interface ObjectReaders {
  configMap(namespace: string, name: string): Promise<ConfigMap | undefined>;
  secret(namespace: string, name: string): Promise<Secret | undefined>;
}

export function objectReaders(objects: ObjectStore): ObjectReaders {
  return {
    configMap: (namespace, name) => orUndefined(objects.configMap(namespace, name)),
    secret: (namespace, name) => orUndefined(objects.secret(namespace, name)),
  };
}

async function orUndefined<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof ObjectNotFound) return undefined;
    throw error;
  }
}
