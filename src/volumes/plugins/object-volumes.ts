/** The configMap, secret and downwardAPI plugins. */
import {
  type ConfigMap,
  ObjectNotFound,
  type ObjectStore,
  type ResourceList,
  type Secret,
} from '../../kube/index.js';
import type { VolumePlugin } from '../contracts.js';
import { downwardFiles } from './downward-files.js';
import { configMapFiles, secretFiles } from './object-files.js';
import { type PayloadVolumeContext, payloadVolumes } from './payload-volume.js';
import { type FileOwner, fileOwner } from './volume-modes.js';

export function configMapVolumes(context: PayloadVolumeContext, objects: ObjectStore): VolumePlugin {
  return payloadVolumes(context, {
    name: 'kubernetes.io/configmap',
    medium: 'disk',
    accepts: ({ configMap }) => configMap !== undefined,
    async collect(pod, { configMap = {} }, signal) {
      const { name = '', items, defaultMode, defaultUser, optional = false } = configMap;
      const object = await readObject(optional, emptyObject, () =>
        objects.configMap(pod.metadata.namespace, name, signal),
      );
      return configMapFiles(object, { items, defaultMode, optional, owner: ownerIn(context, defaultUser) });
    },
  });
}

export function secretVolumes(context: PayloadVolumeContext, objects: ObjectStore): VolumePlugin {
  return payloadVolumes(context, {
    name: 'kubernetes.io/secret',
    medium: 'memory',
    accepts: ({ secret }) => secret !== undefined,
    async collect(pod, { secret = {} }, signal) {
      const { secretName = '', items, defaultMode, defaultUser, optional = false } = secret;
      const object = await readObject(optional, emptyObject, () =>
        objects.secret(pod.metadata.namespace, secretName, signal),
      );
      return secretFiles(object, { items, defaultMode, optional, owner: ownerIn(context, defaultUser) });
    },
  });
}

export function downwardApiVolumes(
  context: PayloadVolumeContext,
  nodeAllocatable: () => ResourceList,
): VolumePlugin {
  return payloadVolumes(context, {
    name: 'kubernetes.io/downward-api',
    medium: 'memory',
    accepts: ({ downwardAPI }) => downwardAPI !== undefined,
    async collect(pod, { downwardAPI = {} }) {
      const { items, defaultMode, defaultUser } = downwardAPI;
      const owner = ownerIn(context, defaultUser);
      return downwardFiles({ pod, items, defaultMode, nodeAllocatable: nodeAllocatable(), owner });
    },
  });
}

export function ownerIn(context: PayloadVolumeContext, defaultUser: number | undefined): FileOwner {
  return fileOwner(context.allowsUsers ?? false, defaultUser);
}

/** Stands for a missing optional object. */
export const emptyObject: ConfigMap & Secret = { metadata: {} };

/** A missing optional object counts as empty; any other failure rejects. */
export async function readObject<T>(optional: boolean, empty: T, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (optional && error instanceof ObjectNotFound) return empty;
    throw error;
  }
}
