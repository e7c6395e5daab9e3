/** The CSI plugin: volumes that drivers of the node stage once for all pods and publish for each pod. */
import { join } from 'node:path/posix';
import type { Clock } from '../../async/index.js';
import { type Host, hostApart } from '../../host/index.js';
import type { Pod, Secret } from '../../kube/index.js';
import {
  type ServiceAccountTokens,
  VolumeFailure,
  type VolumePlugin,
  type VolumeRemains,
  type VolumeSpec,
  volumeModeOf,
} from '../contracts.js';
import { innerNameOf } from '../plugins/inner-name.js';
import { podVolumeDirectory } from '../plugins/volume-paths.js';
import { isLimitReached, verifyAttached } from './attach.js';
import { csiBlockVolumes } from './block.js';
import { blockPlaces } from './block-names.js';
import type { CsiClientOptions } from './client.js';
import type { DriverPolicies } from './driver-policy.js';
import { expandOnNode } from './expand.js';
import { askVolumeHealth } from './health.js';
import {
  csiPluginName,
  csiVolumeOf,
  type DriverVolume,
  deviceName,
  isDriverName,
  publishedMount,
} from './names.js';
import { publishVolume, unpublishVolume } from './publish.js';
import { isReadOnly } from './requests.js';
import { stagedRemains, stageVolume, unstageVolume } from './stage.js';
import { measureVolume } from './stats.js';
import { readVolData } from './vol-data.js';
import { volumeProblem } from './volume-problem.js';

/** What the cluster has for CSI volumes; read anew at each use. */
export interface CsiObjects {
  secret(namespace: string, name: string, signal: AbortSignal): Promise<Secret>;
  attachment(name: string, signal: AbortSignal): Promise<CsiAttachment>;
}

/** A VolumeAttachment as far as a node reads it. */
export interface CsiAttachment {
  readonly isDeleting: boolean;
  readonly attached: boolean;
  readonly error: string | undefined;
  /** The gRPC code of the error, where the attacher tells. */
  readonly errorCode?: number | undefined;
  readonly metadata: Readonly<Record<string, string>>;
}

export interface CsiVolumesOptions {
  readonly host: Host;
  readonly clock: Clock;
  readonly rootDir: string;
  readonly nodeName: string;
  readonly client: CsiClientOptions;
  readonly policies: DriverPolicies;
  /** Left out without an API server. */
  readonly objects?: CsiObjects | undefined;
  readonly tokens?: ServiceAccountTokens | undefined;
  /** Asks a driver now how many volumes it can attach, and tells the cluster; never rejects. */
  readonly refreshAllocatable?: ((driver: string, signal: AbortSignal) => Promise<void>) | undefined;
  /** Whether a controller attaches volumes, as the node tells the cluster. */
  readonly controllerAttaches: boolean;
  /** Receives Warning events of the pod. */
  readonly warn?: ((pod: Pod, reason: string, message: string) => void) | undefined;
}

export function csiVolumes(options: CsiVolumesOptions): VolumePlugin {
  const { host, rootDir, policies } = options;
  const volumeDirectory = ({ podUid, innerName }: VolumeRemains): string =>
    podVolumeDirectory(rootDir, podUid, csiPluginName, innerName);
  const pathInPod = (spec: VolumeSpec, podUid: string): string => {
    const innerName = directoryName(spec);
    return volumeModeOf(spec) === 'Block'
      ? join(blockPlaces(rootDir, innerNameOf(spec)).map, podUid)
      : join(volumeDirectory({ podUid, innerName }), publishedMount);
  };
  /** Of a block volume the driver knows its own file, or what it links to. */
  const expandedPath = async (spec: VolumeSpec, podUid: string): Promise<string> => {
    if (volumeModeOf(spec) !== 'Block') return pathInPod(spec, podUid);
    const published = join(blockPlaces(rootDir, innerNameOf(spec)).publish, podUid);
    return host.files.realpath(published).catch(() => published);
  };
  return {
    name: csiPluginName,
    ownsDirectory: true,
    supportsMountOptions: true,
    refreshes: (spec) => policies.get(csiVolumeOf(spec, '').driver)?.requiresRepublish === true,
    accepts: (spec) =>
      spec.kind === 'inline' ? spec.volume.csi !== undefined : spec.persistentVolume.spec.csi !== undefined,
    innerName: directoryName,
    problem: volumeProblem,
    driverOf: (spec) => csiVolumeOf(spec, '').driver,
    supportsSELinuxMount: (spec) =>
      spec.kind === 'persistent' && policies.get(csiVolumeOf(spec, '').driver)?.seLinuxMount === true,
    traits: (spec) => ({ managed: !isReadOnly(spec), readOnly: isReadOnly(spec), relabel: true }),
    hostPath: (spec, podUid) =>
      join(volumeDirectory({ podUid, innerName: directoryName(spec) }), publishedMount),
    setUp: (request) => {
      const { pod, spec } = request;
      const podUid = pod.metadata.uid;
      const volume = checked(csiVolumeOf(spec, podUid));
      const directory = volumeDirectory({ podUid, innerName: directoryName(spec) });
      return publishVolume({ ...options, host: apart(host, volume), volume, directory }, request);
    },
    tearDown: async (remains) => unpublishVolume(options, volumeDirectory(remains)),
    measure: (spec, podUid, signal) => {
      const volume = csiVolumeOf(spec, podUid);
      return measureVolume(options.client, volume, pathInPod(spec, podUid), signal);
    },
    health: (spec, podUid, signal) => {
      const { client } = options;
      const volume = checked(csiVolumeOf(spec, podUid));
      const target = join(volumeDirectory({ podUid, innerName: directoryName(spec) }), publishedMount);
      return askVolumeHealth({ client, rootDir, volume, spec, podUid, target }, signal);
    },
    expand: async (request) => {
      const { spec, podUid } = request;
      const volume = checked(csiVolumeOf(spec, podUid));
      return expandOnNode({ ...options, volume, path: await expandedPath(spec, podUid) }, request);
    },
    async identify(remains) {
      const data = await readVolData(host, volumeDirectory(remains));
      if (data === undefined) throw new Error('it has no volume data');
      const volume = checked({ driver: data.driverName, handle: data.volumeHandle });
      const isInline = data.volumeLifecycleMode === 'Ephemeral';
      const uniqueName = isInline ? undefined : deviceName(volume);
      return { uniqueName, driver: volume.driver, seLinuxLabel: data.seLinuxMountContext };
    },
    devices: {
      uniqueName: (spec) => (spec.kind === 'inline' ? undefined : deviceName(csiVolumeOf(spec, ''))),
      mountDevice: async (spec, signal, { fsGroup, seLinuxLabel } = {}) => {
        const volume = checked(csiVolumeOf(spec, ''));
        const request = { spec, fsGroup, seLinuxLabel, signal };
        await stageVolume({ ...options, host: apart(host, volume), volume }, request);
      },
      unmountDevice: (device) => unstageVolume(options, device),
      remains: () => stagedRemains(host, rootDir),
    },
    block: csiBlockVolumes(options),
    attaching: {
      ready: (_, signal) => policies.synced(signal),
      isNeeded: (spec) =>
        spec.kind === 'persistent' && policies.get(csiVolumeOf(spec, '').driver)?.attachRequired === true,
      verify: async (spec, signal) => void (await verifyAttached(options, csiVolumeOf(spec, ''), signal)),
      isLimitReached: (spec, signal) => isLimitReached(options, csiVolumeOf(spec, ''), signal),
    },
  };
}

/** The name of a migrated volume may be a path. */
function directoryName(spec: VolumeSpec): string {
  return innerNameOf(spec).replaceAll('/', '~');
}

/** A driver's file system may hang; then only this volume waits. */
function apart(host: Host, volume: DriverVolume): Host {
  return hostApart(host, deviceName(volume));
}

function checked(volume: DriverVolume): DriverVolume {
  if (!isDriverName(volume.driver)) {
    throw new VolumeFailure(
      'final',
      `csi.driver ${JSON.stringify(volume.driver)} is no name of a CSI driver`,
    );
  }
  return volume;
}
