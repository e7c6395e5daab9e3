/** The kubelet's metrics under the names that dashboards know, and the observers that count them. */
import type { Registry } from '../../metrics/index.js';
import { type KnownWorker, podStartBuckets } from '../../pods/index.js';
import type { HousekeepingObserver, StaticCount } from '../sync/housekeeping.js';
import type { SyncerObserver } from '../sync/pod-syncer.js';

const lifecycles = ['sync', 'terminating', 'terminated'] as const;
const workerKinds = [
  ['desired', ''],
  ['desired', 'true'],
  ['orphan', ''],
  ['orphan', 'true'],
  ['runtime_only', 'unknown'],
] as const;

export type KubeletMetrics = ReturnType<typeof createMetrics>;

export function createMetrics(registry: Registry, nodeName: string) {
  registry
    .gauge('kubelet_node_name', "The node's name. The count is always 1.", ['node'])
    .set(1, { node: nodeName });
  const workerStart = registry.histogram(
    'kubelet_pod_worker_start_duration_seconds',
    'Duration in seconds from first seeing a pod to starting its worker.',
  );
  const podStart = registry.histogram(
    'kubelet_pod_start_duration_seconds',
    'Duration in seconds from first seeing a pod to the pod running.',
    [],
    podStartBuckets,
  );
  const desiredPods = registry.gauge('kubelet_desired_pods', 'The number of pods the node should run.', [
    'static',
  ]);
  const activePods = registry.gauge('kubelet_active_pods', 'The number of pods that may use resources.', [
    'static',
  ]);
  const mirrorPods = registry.gauge('kubelet_mirror_pods', 'The number of mirror pods.');
  const workingPods = registry.gauge(
    'kubelet_working_pods',
    'Pods with a worker, by the state of that worker.',
    ['lifecycle', 'config', 'static'],
  );
  const restartedPods = registry.counter(
    'kubelet_restarted_pods_total',
    'Pods that were started anew because their UID was used again.',
    ['static'],
  );
  const orphanedPods = registry.counter(
    'kubelet_orphaned_runtime_pods_total',
    'Pods that ran without being configured and were stopped.',
  );
  const rejections = registry.counter('kubelet_admission_rejections_total', 'Pods refused at admission.', [
    'reason',
  ]);
  const cleanedVolumes = registry.gauge(
    'kubelet_orphan_pod_cleaned_volumes',
    'Directories of pods that are gone, as seen by the last pass.',
  );
  const cleanedVolumeErrors = registry.gauge(
    'kubelet_orphan_pod_cleaned_volumes_errors',
    'Directories of pods that are gone which the last pass could not remove.',
  );
  const losingSupport = registry.gauge(
    'kubelet_cri_losing_support',
    'Releases that will no longer support what the runtime lacks.',
    ['version'],
  );
  const cgroupVersion = registry.gauge('kubelet_cgroup_version', 'The cgroup version of the host.');

  const setStatic = (gauge: typeof desiredPods, count: StaticCount): void => {
    gauge.set(count.regular, { static: '' });
    gauge.set(count.isStatic, { static: 'true' });
  };
  const syncer: SyncerObserver = {
    workerStarted: (sinceMs) => workerStart.observe(sinceMs / 1000),
    podStarted: (sinceMs) => podStart.observe(sinceMs / 1000),
  };
  const housekeeping: HousekeepingObserver = {
    pods({ desired, active, mirrors, workers: known }) {
      setStatic(desiredPods, desired);
      setStatic(activePods, active);
      mirrorPods.set(mirrors);
      const counts = countWorkers(known);
      for (const lifecycle of lifecycles) {
        for (const [config, isStatic] of workerKinds) {
          workingPods.set(counts.get(`${lifecycle} ${config} ${isStatic}`) ?? 0, {
            lifecycle,
            config,
            static: isStatic,
          });
        }
      }
    },
    restarted: (isStatic) => restartedPods.inc({ static: isStatic ? 'true' : '' }),
    orphanedRuntimePod: () => orphanedPods.inc(),
  };
  return {
    syncer,
    housekeeping,
    rejections,
    cleanedVolumes,
    cleanedVolumeErrors,
    cgroupVersion,
    losingSupport,
  };
}

function countWorkers(known: readonly KnownWorker[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { state, orphan, hasConfig, isStatic } of known) {
    const config = hasConfig ? (orphan ? 'orphan' : 'desired') : 'runtime_only';
    const key = `${state} ${config} ${hasConfig ? (isStatic ? 'true' : '') : 'unknown'}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}
