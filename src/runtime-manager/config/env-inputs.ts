/** Fetches the objects and files of a container's environment before it is computed. */

import { asError } from '../../async/index.js';
import {
  type AnyContainer,
  type ConfigMap,
  isStaticPod,
  type Pod,
  type Secret,
  type Service,
} from '../../kube/index.js';
import {
  type EnvironmentInputs,
  envFileKey,
  environmentNeeds,
  type FetchedObject,
  type FetchedServices,
} from './environment.js';
import { machineNodeFiles, type NodeFiles } from './node-files.js';

/** Reads API objects; undefined: no such object. Any other problem rejects. */
export type ObjectReader<T> = (namespace: string, name: string) => Promise<T | undefined>;

export interface ServiceSource {
  /** Whether the services were listed at least once. */
  hasSynced(): boolean;
  list(namespace: string): readonly Service[];
}

/** Where a container's environment comes from. A node without an API server lacks some of these. */
export interface EnvSources {
  readonly configMap?: ObjectReader<ConfigMap>;
  readonly secret?: ObjectReader<Secret>;
  readonly services?: ServiceSource;
  /** Where a pod's volume is mounted on the node; undefined while it is not. */
  readonly volumeDirectory?: (pod: Pod, volumeName: string) => string | undefined;
  /** Default: the files of this machine. */
  readonly files?: Pick<NodeFiles, 'readVolumeFile'>;
}

export async function fetchEnvironmentInputs(
  pod: Pod,
  container: AnyContainer,
  sources: EnvSources,
): Promise<EnvironmentInputs> {
  const needs = environmentNeeds(container);
  const namespace = pod.metadata.namespace;
  const [configMaps, secrets, files] = await Promise.all([
    fetchAll(needs.configMaps, (name) => fetchObject(sources.configMap, 'configMap', namespace, name)),
    fetchAll(needs.secrets, (name) => fetchObject(sources.secret, 'secret', namespace, name)),
    Promise.all(
      needs.files.map(
        async ({ volumeName, path }) =>
          [envFileKey(volumeName, path), await fetchFile(pod, volumeName, path, sources)] as const,
      ),
    ),
  ]);
  return { configMaps, secrets, files: new Map(files), services: fetchServices(pod, sources.services) };
}

/** Static pods do not wait for the API: they may be what runs it. */
function fetchServices(pod: Pod, services: ServiceSource | undefined): FetchedServices {
  if (services === undefined) return { kind: 'standalone' };
  if (!services.hasSynced() && !isStaticPod(pod)) return { kind: 'unread' };
  return {
    kind: 'read',
    ofDefault: services.list('default'),
    ofNamespace: services.list(pod.metadata.namespace),
  };
}

async function fetchAll<T>(
  names: ReadonlySet<string>,
  fetchOne: (name: string) => Promise<FetchedObject<T>>,
): Promise<Map<string, FetchedObject<T>>> {
  return new Map(await Promise.all([...names].map(async (name) => [name, await fetchOne(name)] as const)));
}

async function fetchObject<T>(
  reader: ObjectReader<T> | undefined,
  resource: 'configMap' | 'secret',
  namespace: string,
  name: string,
): Promise<FetchedObject<T>> {
  if (reader === undefined) {
    return failed(new Error(`couldn't get ${resource} ${namespace}/${name}, no kubeClient defined`));
  }
  try {
    const value = await reader(namespace, name);
    return value === undefined ? { kind: 'missing' } : { kind: 'found', value };
  } catch (error) {
    return failed(error);
  }
}

async function fetchFile(
  pod: Pod,
  volumeName: string,
  path: string,
  sources: EnvSources,
): Promise<FetchedObject<string>> {
  const directory = sources.volumeDirectory?.(pod, volumeName);
  if (directory === undefined) return { kind: 'missing' };
  try {
    return {
      kind: 'found',
      value: await (sources.files ?? machineNodeFiles()).readVolumeFile(directory, path),
    };
  } catch (error) {
    return failed(error);
  }
}

function failed(error: unknown): { kind: 'failed'; error: Error } {
  return { kind: 'failed', error: asError(error) };
}
