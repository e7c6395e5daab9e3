/** The kubelet's metrics under the names that dashboards know, and the observers that count them. */
import type { Registry } from '../../metrics/index.js';
import type { KnownWorker, WorkerObserver } from '../../pods/workers/index.js';
import type { HousekeepingObserver, StaticCount } from '../sync/housekeeping.js';
import type { SyncerObserver } from '../sync/pod-syncer.js';

const startBuckets = [
  0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700,
  3600,
];
const operationBuckets = Array.from({ length: 14 }, (_, n) => Number((0.005 * 2.5 ** n).toPrecision(6)));

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
  const workDuration = registry.histogram(
    'kubelet_pod_worker_duration_seconds',
    'Duration in seconds to sync a single pod. Broken down by operation type: create, update, sync, kill or terminated.',
    ['operation_type'],
  );
  const containersPerPod = registry.histogram(
    'kubelet_containers_per_pod_count',
    'The number of containers per pod.',
    [],
    [1, 2, 4, 8, 16],
  );
  const workerStart = registry.histogram(
    'kubelet_pod_worker_start_duration_seconds',
    'Duration in seconds from first seeing a pod to starting its worker.',
  );
  const podStart = registry.histogram(
    'kubelet_pod_start_duration_seconds',
    'Duration in seconds from first seeing a pod to the pod running.',
    [],
    startBuckets,
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
  const plegRelist = registry.histogram(
    'kubelet_pleg_relist_duration_seconds',
    'Duration in seconds of a relist.',
  );
  const plegInterval = registry.histogram(
    'kubelet_pleg_relist_interval_seconds',
    'Interval in seconds between relists.',
  );
  const plegPodRelist = registry.histogram(
    'kubelet_pleg_pod_relist_duration_seconds',
    'Duration in seconds of the relist of one pod.',
  );
  const plegDiscards = registry.counter(
    'kubelet_pleg_discard_events',
    'Events that were lost because nobody took them.',
  );
  const plegLastSeen = registry.gauge(
    'kubelet_pleg_last_seen_seconds',
    'When the PLEG was last seen active, in Unix seconds.',
  );
  const plegEventErrors = registry.counter(
    'kubelet_evented_pleg_connection_error_count',
    'How often the stream of runtime events could not be had or broke.',
  );
  const plegEventConnections = registry.counter(
    'kubelet_evented_pleg_connection_success_count',
    'How often the stream of runtime events was had.',
  );
  const plegEventLatency = registry.histogram(
    'kubelet_evented_pleg_connection_latency_seconds',
    'Duration in seconds from what happened in the runtime to its event.',
  );
  const runningPods = registry.gauge('kubelet_running_pods', 'Pods with a running sandbox.');
  const runningContainers = registry.gauge('kubelet_running_containers', 'Containers by state.', [
    'container_state',
  ]);
  const startedUserPods = registry.counter(
    'kubelet_started_user_namespaced_pods_total',
    'Pod sandboxes with users of their own that were to be started.',
  );
  const startedUserPodErrors = registry.counter(
    'kubelet_started_user_namespaced_pods_errors_total',
    'Pod sandboxes with users of their own that could not be started.',
  );
  const imageVolumesRequested = registry.counter(
    'kubelet_image_volume_requested_total',
    'Images that were asked for as volumes.',
  );
  const imageVolumesMounted = registry.counter(
    'kubelet_image_volume_mounted_succeed_total',
    'Image volumes that containers were created with.',
  );
  const imageVolumeErrors = registry.counter(
    'kubelet_image_volume_mounted_errors_total',
    'Image volumes that containers could not be created with.',
  );
  const podResize = registry.histogram(
    'kubelet_pod_resize_duration_milliseconds',
    'Duration in milliseconds of changes to the resources of running pods.',
    ['success'],
    [10, 100, 500, 1000, 2000, 5000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000],
  );
  const startedPods = registry.counter(
    'kubelet_started_pods_total',
    'Pod sandboxes that were to be started.',
  );
  const startedPodErrors = registry.counter(
    'kubelet_started_pods_errors_total',
    'Pod sandboxes that could not be started.',
  );
  const startedContainers = registry.counter(
    'kubelet_started_containers_total',
    'Containers that were to be started.',
    ['container_type'],
  );
  const startedContainerErrors = registry.counter(
    'kubelet_started_containers_errors_total',
    'Containers that could not be started.',
    ['container_type', 'code'],
  );
  const sandboxDuration = registry.histogram(
    'kubelet_run_podsandbox_duration_seconds',
    'Duration in seconds of starting a pod sandbox.',
    ['runtime_handler'],
    operationBuckets,
  );
  const sandboxErrors = registry.counter(
    'kubelet_run_podsandbox_errors_total',
    'Pod sandboxes that failed to start.',
    ['runtime_handler'],
  );
  const terminatedContainers = registry.counter(
    'kubelet_terminated_containers_total',
    'Container runs that ended.',
    ['container_type', 'exit_code', 'reason'],
  );
  const imagePull = registry.histogram(
    'kubelet_image_pull_duration_seconds',
    'Duration in seconds of image pulls.',
    ['image_size_in_bytes'],
    [1, 5, 10, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600],
  );
  const imageRequests = registry.counter(
    'kubelet_image_manager_ensure_image_requests_total',
    'Requests for images.',
    ['pull_policy', 'present_locally', 'pull_required'],
  );
  const imagesCollected = registry.counter(
    'kubelet_image_garbage_collected_total',
    'Images that were removed because nothing used them.',
    ['reason'],
  );
  const losingSupport = registry.gauge(
    'kubelet_cri_losing_support',
    'Releases that will no longer support what the runtime lacks.',
    ['version'],
  );
  const ephemeralContainers = registry.gauge(
    'kubelet_managed_ephemeral_containers',
    'Ephemeral containers of the pods of this node.',
  );
  const cgroupVersion = registry.gauge('kubelet_cgroup_version', 'The cgroup version of the host.');

  const setStatic = (gauge: typeof desiredPods, count: StaticCount): void => {
    gauge.set(count.regular, { static: '' });
    gauge.set(count.isStatic, { static: 'true' });
  };
  const workers: WorkerObserver = {
    workDone: (type, durationMs) => workDuration.observe(durationMs / 1000, { operation_type: type }),
    podStarted: (containers) => containersPerPod.observe(containers),
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
    workers,
    syncer,
    housekeeping,
    rejections,
    cleanedVolumes,
    cleanedVolumeErrors,
    plegRelist,
    plegInterval,
    plegPodRelist,
    plegDiscards,
    plegLastSeen,
    plegEventErrors,
    plegEventConnections,
    plegEventLatency,
    runningPods,
    runningContainers,
    startedUserPods,
    startedUserPodErrors,
    imageVolumesRequested,
    imageVolumesMounted,
    imageVolumeErrors,
    podResize,
    startedPods,
    startedPodErrors,
    startedContainers,
    startedContainerErrors,
    sandboxDuration,
    sandboxErrors,
    terminatedContainers,
    imagePull,
    imageRequests,
    imagesCollected,
    cgroupVersion,
    losingSupport,
    ephemeralContainers,
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
