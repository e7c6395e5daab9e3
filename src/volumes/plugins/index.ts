/** The kinds of volumes that this node mounts. */
import type { Clock } from '../../async/index.js';
import type { Host } from '../../host/index.js';
import type { ObjectStore, Pod, ResourceList, Secret } from '../../kube/index.js';
import type { ServiceAccountTokens, TrustBundles, VolumePlugin } from '../contracts.js';
import type { PodCertificates } from '../pod-certificates/index.js';
import { secretTexts } from '../secret-texts.js';
import type { RunTool } from './disk-tools.js';
import { emptyDirVolumes, type MemorySizes } from './empty-dir.js';
import { EmptyDirectories } from './empty-directories.js';
import { flexVolumes, type RunFlexDriver } from './flex/index.js';
import { hostPathVolumes } from './host-path.js';
import { imageVolumes } from './image.js';
import { localVolumes } from './local.js';
import { nfsVolumes } from './nfs.js';
import { configMapVolumes, downwardApiVolumes, secretVolumes } from './object-volumes.js';
import { projectedVolumes } from './projected.js';
import { gitRepoVolumes, unsupportedVolumes } from './refused.js';
import { fcVolumes, iscsiVolumes, type ReadDiskSecret } from './remote-disks/index.js';

export { diskTools, type RunTool } from './disk-tools.js';
export { flexPrograms } from './flex/index.js';

export interface VolumePluginsOptions {
  readonly host: Host;
  readonly clock: Clock;
  readonly random?: () => number;
  /** In its canonical form. */
  readonly rootDir: string;
  /** Where ConfigMaps and Secrets come from. */
  readonly objects: ObjectStore;
  /** The node's allocatable resources: they bound volumes in memory and fill in missing limits in downward files. */
  readonly nodeAllocatable: () => ResourceList;
  /** The limit of the pod's cgroup, if it differs from the spec. */
  readonly podMemoryLimit?: (pod: Pod) => bigint | undefined;
  /** Omitted without an API server: volumes that need tokens are refused. */
  readonly tokens?: ServiceAccountTokens;
  /** Omitted without an API server, or while the gate ClusterTrustBundleProjection is off. */
  readonly trustBundles?: TrustBundles;
  /** Omitted without an API server, or while the gate PodCertificateRequest is off. */
  readonly podCertificates?: PodCertificates | undefined;
  /** Told once, when the content of volumes in memory may be swapped to disk. */
  readonly onSwappable?: () => void;
  /** Formats and checks disks, and logs in at iSCSI targets; without it only formatted local disks can be mounted. */
  readonly runDiskTool?: RunTool;
  /** Reads secrets of volumes, also from other namespaces than the pod's. Default: from `objects`. */
  readonly readSecret?:
    | ((namespace: string, name: string, signal: AbortSignal) => Promise<Secret>)
    | undefined;
  /** Where flexVolume drivers are, and how they are started; left out on a machine that is not this process's own. */
  readonly flex?: { readonly directory: string; readonly run: RunFlexDriver } | undefined;
  /** CSI volumes; left out where no driver can be reached. */
  readonly csi?: VolumePlugin | undefined;
  /** Whether pods may choose the modes of empty directories, by the gate EmptyDirVolumeMode. */
  readonly allowsModes?: boolean;
  /** Whether pods may choose the owners of files, by the gate AtomicWriteVolumeUserFields. */
  readonly allowsUsers?: boolean;
  /** Receives Warning events of pods. */
  readonly warn?: (pod: Pod, reason: string, message: string) => void;
}

/** Exactly one of them accepts any given volume. */
export function volumePlugins(options: VolumePluginsOptions): readonly VolumePlugin[] {
  const { host, clock, rootDir, objects, nodeAllocatable, podMemoryLimit, tokens, trustBundles } = options;
  const { onSwappable, runDiskTool, warn, podCertificates } = options;
  const { allowsModes = false, allowsUsers = false } = options;
  const directories = new EmptyDirectories({
    host,
    clock,
    rootDir,
    ...(onSwappable === undefined ? {} : { onSwappable }),
  });
  const sizes: MemorySizes = { nodeAllocatable, ...(podMemoryLimit === undefined ? {} : { podMemoryLimit }) };
  const context = { host, clock, random: options.random, rootDir, directories, sizes, allowsUsers };
  const readSecret = options.readSecret ?? objects.secret.bind(objects);
  const readDiskSecret: ReadDiskSecret = async (...secret) => secretTexts(await readSecret(...secret));
  const disks = { host, clock, rootDir, runDiskTool, readSecret: readDiskSecret, warn };
  const plugins = [
    emptyDirVolumes({ rootDir, directories, allowsModes, ...sizes }),
    hostPathVolumes({ host }),
    configMapVolumes(context, objects),
    secretVolumes(context, objects),
    downwardApiVolumes(context, nodeAllocatable),
    projectedVolumes(context, {
      objects,
      nodeAllocatable,
      ...(tokens === undefined ? {} : { tokens }),
      ...(trustBundles === undefined ? {} : { trustBundles }),
      ...(podCertificates === undefined ? {} : { podCertificates }),
    }),
    imageVolumes(),
    nfsVolumes({ host, rootDir }),
    localVolumes({
      host,
      clock,
      rootDir,
      ...(runDiskTool === undefined ? {} : { runDiskTool }),
      ...(warn === undefined ? {} : { warn }),
    }),
    iscsiVolumes(disks),
    fcVolumes(disks),
    ...(options.flex === undefined
      ? []
      : [flexVolumes({ host, clock, rootDir, readSecret, warn, ...options.flex })]),
    ...(options.csi === undefined ? [] : [options.csi]),
    gitRepoVolumes(),
  ];
  return [...plugins, unsupportedVolumes(plugins)];
}
