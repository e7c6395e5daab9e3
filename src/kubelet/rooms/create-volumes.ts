/** Builds the volume manager of a kubelet that has folders on its machine. */
import { arch } from 'node:os';
import type { ObjectStore, ResourceList } from '../../kube/index.js';
import type { Registry } from '../../metrics/index.js';
import { podRef } from '../../timeline/index.js';
import {
  diskTools,
  VolumeManager,
  type VolumeObserver,
  type VolumePods,
  volumePlugins,
} from '../../volumes/index.js';
import { type PodVolumes, withoutVolumes } from '../ports.js';
import type { KubeletSettings } from '../settings.js';

type VolumeSettings = Pick<
  KubeletSettings,
  | 'clock'
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
  | 'tokens'
  | 'trustBundles'
  | 'node'
>;

/** What volumes need of the kubelet. */
export interface VolumePorts {
  readonly pods: VolumePods;
  readonly nodeAllocatable: () => ResourceList;
  readonly supportsRecursiveReadOnly: (runtimeHandler: string) => boolean;
}

export function createVolumes(settings: VolumeSettings, ports: VolumePorts): PodVolumes {
  const {
    clock,
    timeline,
    rootDir,
    nodeName,
    host: facts,
    machine: host,
    registry,
    gates,
    tokens,
    trustBundles,
    claims,
  } = settings;
  if (settings.volumes !== undefined) return settings.volumes;
  if (!settings.podDirectories) return withoutVolumes;
  const { pods, nodeAllocatable, supportsRecursiveReadOnly } = ports;
  const labels = nodeLabels(nodeName);
  const manager = new VolumeManager({
    clock,
    timeline,
    host,
    rootDir,
    pods,
    plugins: volumePlugins({
      host,
      clock,
      rootDir,
      objects: settings.objects ?? noObjects,
      nodeAllocatable,
      ...(tokens === undefined ? {} : { tokens }),
      ...(trustBundles !== undefined && gates.enabled('ClusterTrustBundleProjection')
        ? { trustBundles }
        : {}),
      // Programs of this machine can do nothing for another.
      ...(settings.isOwnMachine ? { runDiskTool: diskTools(clock) } : {}),
      warn: (pod, reason, message) => timeline.event(podRef(pod), 'Warning', reason, message),
    }),
    node: () => ({ name: nodeName, labels: settings.node()?.metadata.labels ?? labels }),
    supportsRecursiveReadOnly,
    isSelinuxEnabled: facts.isSelinuxEnabled,
    observer: volumeObserver(registry),
    claims,
  });
  countVolumes(registry, manager);
  return manager;
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

const operationBuckets = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600];

function volumeObserver(registry: Registry): VolumeObserver {
  const durations = registry.histogram(
    'storage_operation_duration_seconds',
    'Duration of operations on volumes.',
    ['volume_plugin', 'operation_name', 'status', 'migrated'],
    operationBuckets,
  );
  const reconstructed = registry.counter(
    'reconstruct_volume_operations_total',
    'Volumes that were found on disk at the start.',
  );
  const reconstructErrors = registry.counter(
    'reconstruct_volume_operations_errors_total',
    'Volumes that were found on disk at the start and that no plugin knows.',
  );
  const cleaned = registry.counter(
    'force_cleaned_failed_volume_operations_total',
    'Attempts to remove volumes that no plugin knows.',
  );
  const cleanErrors = registry.counter(
    'force_cleaned_failed_volume_operation_errors_total',
    'Failed attempts to remove volumes that no plugin knows.',
  );
  return {
    operation({ pluginName, name, succeeded, durationMs }) {
      durations.observe(durationMs / 1000, {
        volume_plugin: pluginName,
        operation_name: name,
        status: succeeded ? 'success' : 'fail-unknown',
        migrated: 'false',
      });
    },
    reconstructed(found, unknown) {
      reconstructed.inc({}, found);
      reconstructErrors.inc({}, unknown);
    },
    leftoverCleaned(failed) {
      cleaned.inc();
      if (failed) cleanErrors.inc();
    },
  };
}

function countVolumes(registry: Registry, manager: VolumeManager): void {
  const volumes = registry.gauge('volume_manager_total_volumes', 'Volumes by plugin and state.', [
    'plugin_name',
    'state',
  ]);
  registry.onCollect(() => {
    const { desired, actual } = manager.counts();
    for (const name of new Set([...desired.keys(), ...actual.keys()])) {
      volumes.set(desired.get(name) ?? 0, { plugin_name: name, state: 'desired_state_of_world' });
      volumes.set(actual.get(name) ?? 0, { plugin_name: name, state: 'actual_state_of_world' });
    }
  });
}
