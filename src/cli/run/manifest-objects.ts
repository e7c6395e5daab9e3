/** Reads the ConfigMaps, Secrets, PersistentVolumes and claims of manifests. */
import {
  type ConfigMap,
  decodeObjects,
  InvalidManifest,
  type Mapping,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Problem,
  type Secret,
  type StandaloneObjectKind,
  validateObject,
} from '../../kube/index.js';
import {
  belowPlace,
  documentAt,
  type ManifestLocation,
  placeAt,
  problemOf,
  readBelow,
} from './manifest-location.js';

export interface ManifestObjects {
  readonly configMaps: ConfigMap[];
  readonly secrets: Secret[];
  readonly persistentVolumes: PersistentVolume[];
  readonly persistentVolumeClaims: PersistentVolumeClaim[];
}

export const objectKinds: ReadonlySet<string> = new Set<StandaloneObjectKind>([
  'ConfigMap',
  'Secret',
  'PersistentVolume',
  'PersistentVolumeClaim',
]);

export function noObjects(): ManifestObjects {
  return { configMaps: [], secrets: [], persistentVolumes: [], persistentVolumeClaims: [] };
}

/** Adds the object and returns warnings about ignored fields. Throws InvalidManifest. */
export function addObject(
  objects: ManifestObjects,
  kind: StandaloneObjectKind,
  value: Mapping,
  place: ManifestLocation,
): Problem[] {
  const document = documentAt(place, { ...value, apiVersion: 'v1', kind });
  const { objects: decoded, warnings } = readBelow(place, () => decodeObjects(document, [kind]));
  for (const { object } of decoded) {
    if (object.kind === 'Pod') continue;
    const errors = validateObject(object);
    if (errors.length > 0)
      throw new InvalidManifest(
        errors.map(({ path, message }) => problemOf(placeAt(place, ...path), message)),
      );
    switch (object.kind) {
      case 'ConfigMap':
        objects.configMaps.push(object);
        break;
      case 'Secret':
        objects.secrets.push(object);
        break;
      case 'PersistentVolume':
        objects.persistentVolumes.push(object);
        break;
      case 'PersistentVolumeClaim':
        objects.persistentVolumeClaims.push(object);
        break;
    }
  }
  return warnings.map((warning) => belowPlace(place, warning));
}
