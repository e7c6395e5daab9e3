/** The projected plugin: several sources in one directory, all or none. */
import { aggregateText, errorText, isCancelled } from '../../async/index.js';
import type {
  ObjectStore,
  Pod,
  ProjectedVolumeSource,
  ResourceList,
  Volume,
  VolumeProjection,
} from '../../kube/index.js';
import type { Payload, PayloadFile } from '../atomic-writer.js';
import type { ServiceAccountTokens, TrustBundles, VolumePlugin } from '../contracts.js';
import type { PodCertificates } from '../pod-certificates/index.js';
import { downwardFiles } from './downward-files.js';
import { configMapFiles, secretFiles } from './object-files.js';
import { emptyObject, ownerIn, readObject } from './object-volumes.js';
import { type PayloadVolumeContext, payloadVolumes } from './payload-volume.js';
import { credentialMode, type FileOwner, fsUserOf, missingDefaultMode, ownedBy } from './volume-modes.js';

export interface ProjectedSources {
  readonly objects: ObjectStore;
  readonly nodeAllocatable: () => ResourceList;
  /** Omitted without an API server. */
  readonly tokens?: ServiceAccountTokens;
  /** Omitted without an API server, or while the feature gate is off. */
  readonly trustBundles?: TrustBundles;
  /** The same. */
  readonly podCertificates?: PodCertificates;
}

export function projectedVolumes(context: PayloadVolumeContext, sources: ProjectedSources): VolumePlugin {
  return payloadVolumes(context, {
    name: 'kubernetes.io/projected',
    medium: 'memory',
    accepts: ({ projected }) => projected !== undefined,
    collect: (pod, volume, signal) => {
      const owner = ownerIn(context, volume.projected?.defaultUser);
      return collectSources(pod, volume, sources, owner, signal);
    },
    onTornDown: ({ podUid, innerName }) => {
      sources.tokens?.forget(podUid);
      sources.podCertificates?.forget(podUid, innerName);
    },
  });
}

/** On equal paths the later source wins. Rejects with the errors of all sources. */
async function collectSources(
  pod: Pod,
  volume: Volume,
  sources: ProjectedSources,
  owner: FileOwner,
  signal: AbortSignal,
): Promise<Payload> {
  const { sources: projections = [], defaultMode }: ProjectedVolumeSource = volume.projected ?? {};
  if (defaultMode === undefined) throw new Error(missingDefaultMode);
  const payload = new Map<string, PayloadFile>();
  const errors: unknown[] = [];
  for (const [sourceIndex, projection] of projections.entries()) {
    try {
      const place = { volumeName: volume.name, sourceIndex };
      const request = { pod, ...place, defaultMode, owner, projection, sources, signal };
      for (const [path, file] of await sourceFiles(request)) payload.set(path, file);
    } catch (error) {
      if (isCancelled(error)) throw error;
      errors.push(error);
    }
  }
  if (errors.length > 0) throw new AggregateError(errors, aggregateText(errors.map(errorText)));
  return payload;
}

interface SourceRequest {
  readonly pod: Pod;
  readonly volumeName: string;
  readonly defaultMode: number;
  readonly owner: FileOwner;
  readonly sourceIndex: number;
  readonly projection: VolumeProjection;
  readonly sources: ProjectedSources;
  readonly signal: AbortSignal;
}

async function sourceFiles(request: SourceRequest): Promise<Payload> {
  const { pod, defaultMode, owner, projection, sources, signal } = request;
  const namespace = pod.metadata.namespace;
  if (projection.secret !== undefined) {
    const { name = '', items, optional = false } = projection.secret;
    const secret = await readObject(optional, emptyObject, () =>
      sources.objects.secret(namespace, name, signal),
    );
    return secretFiles(secret, { items, defaultMode, optional, owner });
  }
  if (projection.configMap !== undefined) {
    const { name = '', items, optional = false } = projection.configMap;
    const configMap = await readObject(optional, emptyObject, () =>
      sources.objects.configMap(namespace, name, signal),
    );
    return configMapFiles(configMap, { items, defaultMode, optional, owner });
  }
  if (projection.downwardAPI !== undefined) {
    const { items } = projection.downwardAPI;
    return downwardFiles({ pod, items, defaultMode, nodeAllocatable: sources.nodeAllocatable(), owner });
  }
  if (projection.serviceAccountToken !== undefined) return tokenFile(request, projection.serviceAccountToken);
  if (projection.clusterTrustBundle !== undefined) return bundleFile(request, projection.clusterTrustBundle);
  if (projection.podCertificate !== undefined) return certificateFiles(request, projection.podCertificate);
  return new Map();
}

async function tokenFile(
  request: SourceRequest,
  { audience, expirationSeconds = 3600, path, user }: NonNullable<VolumeProjection['serviceAccountToken']>,
): Promise<Payload> {
  const { pod, sources, volumeName, signal } = request;
  if (sources.tokens === undefined) {
    throw new Error(`cannot setup projected volume ${volumeName} because kube client is not configured`);
  }
  const token = await sources.tokens.token({
    pod,
    audience: audience || undefined,
    expirationSeconds,
    signal,
  });
  return new Map([[path, credential(request, user, token)]]);
}

async function bundleFile(
  request: SourceRequest,
  {
    name,
    signerName,
    labelSelector,
    optional = false,
    path,
    user,
  }: NonNullable<VolumeProjection['clusterTrustBundle']>,
): Promise<Payload> {
  const { sources, signal } = request;
  if (sources.trustBundles === undefined) {
    throw new Error('ClusterTrustBundle projection is not supported in static kubelet mode');
  }
  const bundle = await sources.trustBundles.bundle({ name, signerName, labelSelector, optional, signal });
  return new Map([[path, credential(request, user, bundle)]]);
}

async function certificateFiles(
  request: SourceRequest,
  projection: NonNullable<VolumeProjection['podCertificate']>,
): Promise<Payload> {
  const { pod, sources, volumeName, sourceIndex, signal } = request;
  if (sources.podCertificates === undefined) {
    throw new Error(
      `volume ${JSON.stringify(volumeName)} projects a podCertificate, which needs an API server and the feature gate PodCertificateRequest`,
    );
  }
  const source = { pod, volumeName, sourceIndex, projection };
  const { keyPem, chainPem } = await sources.podCertificates.credential(source, signal);
  const { credentialBundlePath, keyPath, certificateChainPath, user } = projection;
  const files = new Map<string, PayloadFile>();
  if (credentialBundlePath)
    files.set(credentialBundlePath, credential(request, user, `${keyPem}${chainPem}`));
  if (keyPath) files.set(keyPath, credential(request, user, keyPem));
  if (certificateChainPath) files.set(certificateChainPath, credential(request, user, chainPem));
  return files;
}

/** A file owned by the user that was chosen for it, else by the containers' user, if they share one. */
function credential(
  { pod, defaultMode, owner }: SourceRequest,
  user: number | undefined,
  data: string,
): PayloadFile {
  const owned = owner(user) ?? fsUserOf(pod);
  return { data, mode: credentialMode(pod, defaultMode, owned), ...ownedBy(owned) };
}
