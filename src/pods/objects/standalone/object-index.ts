/** Merges objects from several origins, and finds the changes between two such views. */
import {
  type ConfigMap,
  type ObjectMeta,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Secret,
  type StandaloneObjectKind,
  semanticEqual,
} from '../../../kube/index.js';

/** The objects of one origin. */
export interface ObjectSet {
  readonly configMaps?: readonly ConfigMap[];
  readonly secrets?: readonly Secret[];
  readonly persistentVolumes?: readonly PersistentVolume[];
  readonly persistentVolumeClaims?: readonly PersistentVolumeClaim[];
}

/** By `objectKey`. */
export interface ObjectIndex {
  readonly ConfigMap: ReadonlyMap<string, ConfigMap>;
  readonly Secret: ReadonlyMap<string, Secret>;
  readonly PersistentVolume: ReadonlyMap<string, PersistentVolume>;
  readonly PersistentVolumeClaim: ReadonlyMap<string, PersistentVolumeClaim>;
}

export interface ObjectIdentity {
  readonly kind: StandaloneObjectKind;
  /** Empty for persistent volumes. */
  readonly namespace: string;
  readonly name: string;
}

const kinds = ['ConfigMap', 'Secret', 'PersistentVolume', 'PersistentVolumeClaim'] as const;

export function objectKey(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

export const emptyIndex: ObjectIndex = {
  ConfigMap: new Map(),
  Secret: new Map(),
  PersistentVolume: new Map(),
  PersistentVolumeClaim: new Map(),
};

/** If two origins give the same object, the one whose name sorts last wins. */
export function indexObjects(origins: ReadonlyMap<string, ObjectSet>): ObjectIndex {
  const sets = [...origins].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, set]) => set);
  return {
    ConfigMap: byKey(sets.flatMap(({ configMaps = [] }) => configMaps)),
    Secret: byKey(sets.flatMap(({ secrets = [] }) => secrets.map(mergeStringData))),
    PersistentVolume: byKey(
      sets.flatMap(({ persistentVolumes = [] }) => persistentVolumes),
      false,
    ),
    PersistentVolumeClaim: byKey(sets.flatMap(({ persistentVolumeClaims = [] }) => persistentVolumeClaims)),
  };
}

/** The objects that differ: new, changed or gone. */
export function changedObjects(before: ObjectIndex, after: ObjectIndex): ObjectIdentity[] {
  return kinds.flatMap((kind) => {
    const [old, current]: ReadonlyMap<string, { metadata: ObjectMeta }>[] = [before[kind], after[kind]];
    const keys = new Set([...(old?.keys() ?? []), ...(current?.keys() ?? [])]);
    return [...keys]
      .filter((key) => !semanticEqual(old?.get(key), current?.get(key)))
      .map((key) => identity(kind, key));
  });
}

/** The identities of objects, for messages about several files with the same object. */
export function identities(objects: ObjectSet): ObjectIdentity[] {
  const index = indexObjects(new Map([['', objects]]));
  return kinds.flatMap((kind) => [...index[kind].keys()].map((key) => identity(kind, key)));
}

function identity(kind: StandaloneObjectKind, key: string): ObjectIdentity {
  const slash = key.indexOf('/');
  return { kind, namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

function byKey<T extends { metadata: ObjectMeta }>(
  objects: readonly T[],
  isNamespaced = true,
): Map<string, T> {
  const result = new Map<string, T>();
  for (const object of objects) {
    const namespace = isNamespaced ? object.metadata.namespace || 'default' : '';
    const metadata = isNamespaced ? { ...object.metadata, namespace } : object.metadata;
    result.set(objectKey(namespace, object.metadata.name ?? ''), { ...object, metadata });
  }
  return result;
}

/** Plain text is a convenience for authors of manifests; readers find only base64. */
function mergeStringData(secret: Secret): Secret {
  const { stringData, ...rest } = secret;
  if (stringData === undefined) return secret;
  const encoded = Object.entries(stringData).map(([key, text]) => [
    key,
    Buffer.from(text).toString('base64'),
  ]);
  return { ...rest, data: { ...rest.data, ...Object.fromEntries(encoded) } };
}
