/** Builds the volume manager of a kubelet that has directories on its machine. */
import { arch } from 'node:os';
import type { ObjectStore, Pod, ResourceList } from '../../kube/index.js';
import { podRef } from '../../timeline/index.js';
import {
  createVolumeMetrics,
  csiPluginName,
  csiVolumes,
  diskTools,
  flexPrograms,
  registerVolumeCounts,
  standalonePolicies,
  VolumeManager,
  type VolumePods,
  volumePlugins,
} from '../../volumes/index.js';
import { type PodVolumes, withoutVolumes } from '../ports.js';
import type { KubeletSettings } from '../settings.js';
import type { KubeletCsi } from './create-csi.js';

type VolumeSettings = Pick<
  KubeletSettings,
  | 'clock'
  | 'outside'
  | 'timeline'
  | 'rootDir'
  | 'nodeName'
  | 'host'
  | 'machine'
  | 'isOwnMachine'
  | 'registry'
  | 'gates'
  | 'podDirectories'
  | 'volumes'
  | 'objects'
  | 'claims'
  | 'random'
  | 'tokens'
  | 'trustBundles'
  | 'podCertificates'
  | 'node'
  | 'config'
  | 'csi'
>;

/** What volumes need of the kubelet. */
export interface VolumePorts {
  readonly pods: VolumePods;
  readonly nodeAllocatable: () => ResourceList;
  readonly supportsRecursiveReadOnly: (runtimeHandler: string) => boolean;
  readonly csi: Pick<KubeletCsi, 'client' | 'refreshAllocatable'>;
}

export function createVolumes(settings: VolumeSettings, ports: VolumePorts): PodVolumes {
  const {
    clock,
    random,
    timeline,
    rootDir,
    nodeName,
    host: facts,
    machine: host,
    registry,
    gates,
    tokens,
    trustBundles,
    podCertificates,
    claims,
  } = settings;
  if (settings.volumes !== undefined) return settings.volumes;
  if (!settings.podDirectories) return withoutVolumes;
  const { pods, nodeAllocatable, supportsRecursiveReadOnly } = ports;
  const labels = nodeLabels(nodeName);
  const warn = (pod: Pod, reason: string, message: string): void =>
    void timeline.event(podRef(pod), 'Warning', reason, message);
  const { csi = {}, config, outside } = settings;
  const { objects: csiObjects } = csi;
  const manager = new VolumeManager({
    clock,
    timeline,
    host,
    rootDir,
    pods,
    plugins: volumePlugins({
      host,
      clock,
      random,
      rootDir,
      objects: settings.objects ?? noObjects,
      nodeAllocatable,
      allowsModes: gates.enabled('EmptyDirVolumeMode'),
      allowsUsers: gates.enabled('AtomicWriteVolumeUserFields'),
      ...(tokens === undefined ? {} : { tokens }),
      ...(trustBundles !== undefined && gates.enabled('ClusterTrustBundleProjection')
        ? { trustBundles }
        : {}),
      podCertificates: gates.enabled('PodCertificateRequest') ? podCertificates : undefined,
      // Programs of this machine can do nothing for another.
      ...(settings.isOwnMachine
        ? {
            runDiskTool: outside.port('disk tools', () => diskTools(outside.clock)),
            flex: {
              directory: config.volumePluginDir,
              run: outside.port('flex drivers', () => flexPrograms(outside.clock)),
            },
          }
        : {}),
      ...(facts.swapCapacityBytes > 0 ? { onSwappable: () => warnOfSwap(settings) } : {}),
      warn,
      readSecret: csiObjects && ((...secret) => csiObjects.secret(...secret)),
      csi: csiVolumes({
        host,
        clock,
        rootDir,
        nodeName,
        client: ports.csi.client,
        refreshAllocatable: ports.csi.refreshAllocatable,
        policies: csi.policies ?? standalonePolicies,
        objects: csiObjects,
        tokens,
        controllerAttaches: config.enableControllerAttachDetach,
        warn,
      }),
    }),
    node: () => ({ name: nodeName, labels: settings.node()?.metadata.labels ?? labels }),
    supportsRecursiveReadOnly,
    isSelinuxEnabled: facts.isSelinuxEnabled,
    seLinuxMountsAllModes: gates.enabled('SELinuxMount'),
    metrics: createVolumeMetrics(registry),
    claims,
    attachments: config.enableControllerAttachDetach ? csi.attachments : undefined,
  });
  ports.csi.client.drivers.onReady(() => manager.driverReady(csiPluginName));
  registerVolumeCounts(registry, () => manager.counts());
  return manager;
}

function warnOfSwap({ timeline, nodeName }: Pick<VolumeSettings, 'timeline' | 'nodeName'>): void {
  timeline.nodeEvent(
    nodeName,
    'Warning',
    'PossibleMemoryBackedVolumesOnDisk',
    'The tmpfs noswap option is not supported. Memory-backed volumes (e.g. secrets, emptyDirs, etc.) might be swapped to disk and should no longer be considered secure.',
  );
}

/** The labels that a node has before anyone gives it more. */
function nodeLabels(nodeName: string): Readonly<Record<string, string>> {
  const architecture = arch() === 'x64' ? 'amd64' : arch();
  return {
    'kubernetes.io/hostname': nodeName,
    'kubernetes.io/os': 'linux',
    'kubernetes.io/arch': architecture,
    'beta.kubernetes.io/os': 'linux',
    'beta.kubernetes.io/arch': architecture,
  };
}

const standalone = async (): Promise<never> => {
  throw new Error('not supported due to running kubelet in standalone mode');
};

/** A node that was given no objects. */
const noObjects: ObjectStore = {
  registerPod: () => {},
  unregisterPod: () => {},
  configMap: standalone,
  secret: standalone,
};
