/** The metrics of the kubelet itself: admission, the steps of pods, housekeeping, and what it runs on. */
import { isStaticPod, type Pod } from '../kube/index.js';
import { type Gauge, Registry } from '../metrics/index.js';
import { type KnownWorker, podStartBuckets } from '../pods/index.js';

export type KubeletMetrics = ReturnType<typeof createKubeletMetrics>;

/** Without a registry nobody reads them. */
export function createKubeletMetrics(registry = new Registry()) {
  const restartedPods = registry.counter(
    'kubelet_restarted_pods_total',
    'Pods that were started anew because their UID was used again.',
    ['static'],
  );
  // Shown from the start, so that the first one is seen as a change.
  for (const isStatic of [false, true]) restartedPods.inc({ static: staticLabel(isStatic) }, 0);
  return {
    nodeName: registry.gauge('kubelet_node_name', 'The name of this node; always 1.', ['node']),
    cgroupVersion: registry.gauge('kubelet_cgroup_version', 'The cgroup version of the host.'),
    losingSupport: registry.gauge(
      'kubelet_cri_losing_support',
      'Releases that will no longer support what the runtime lacks.',
      ['version'],
    ),
    rejections: registry.counter('kubelet_admission_rejections_total', 'Pods refused at admission.', [
      'reason',
    ]),
    podLevelAdmissions: registry.counter(
      'kubelet_pod_level_resources_admission_total',
      'Pods that were admitted, by where they name their resources and by their QoS class.',
      ['config_mode', 'qos_class'],
    ),
    preemptions: registry.counter(
      'kubelet_preemptions',
      'Pods that were ended to make room for a critical pod, by the first resource that it lacked.',
      ['preemption_signal'],
    ),
    workerStart: registry.histogram(
      'kubelet_pod_worker_start_duration_seconds',
      'Duration in seconds from first seeing a pod to starting its worker.',
    ),
    podStart: registry.histogram(
      'kubelet_pod_start_duration_seconds',
      'Duration in seconds from first seeing a pod to the pod running.',
      [],
      podStartBuckets,
    ),
    desiredPods: registry.gauge('kubelet_desired_pods', 'The number of pods the node should run.', [
      'static',
    ]),
    activePods: registry.gauge('kubelet_active_pods', 'The number of pods that may use resources.', [
      'static',
    ]),
    mirrorPods: registry.gauge('kubelet_mirror_pods', 'The number of mirror pods.'),
    workingPods: registry.gauge('kubelet_working_pods', 'Pods with a worker, by the state of that worker.', [
      'lifecycle',
      'config',
      'static',
    ]),
    restartedPods,
    orphanedPods: registry.counter(
      'kubelet_orphaned_runtime_pods_total',
      'Pods that ran without being configured and were stopped.',
    ),
    cleanedVolumes: registry.gauge(
      'kubelet_orphan_pod_cleaned_volumes',
      'Directories of pods that are gone, as seen by the last pass.',
    ),
    cleanedVolumeErrors: registry.gauge(
      'kubelet_orphan_pod_cleaned_volumes_errors',
      'Directories of pods that are gone which the last pass could not remove.',
    ),
  };
}

/** The label `static` of a pod. */
export function staticLabel(isStatic: boolean): string {
  return isStatic ? 'true' : '';
}

/** Counts static pods apart from the others. */
export function countPods(gauge: Gauge<'static'>, pods: readonly Pod[]): void {
  const statics = pods.filter(isStaticPod).length;
  gauge.set(pods.length - statics, { static: staticLabel(false) });
  gauge.set(statics, { static: staticLabel(true) });
}

const lifecycles = ['sync', 'terminating', 'terminated'] as const;
const workerKinds = [
  ['desired', ''],
  ['desired', 'true'],
  ['orphan', ''],
  ['orphan', 'true'],
  ['runtime_only', 'unknown'],
] as const;

/** Every combination is set, so that one that no worker is in any more falls to zero. */
export function countWorkers(gauge: KubeletMetrics['workingPods'], known: Iterable<KnownWorker>): void {
  const counts = new Map<string, number>();
  for (const { state, orphan, hasConfig, isStatic } of known) {
    const config = hasConfig ? (orphan ? 'orphan' : 'desired') : 'runtime_only';
    const key = `${state} ${config} ${hasConfig ? staticLabel(isStatic) : 'unknown'}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  for (const lifecycle of lifecycles) {
    for (const [config, isStatic] of workerKinds) {
      const count = counts.get(`${lifecycle} ${config} ${isStatic}`) ?? 0;
      gauge.set(count, { lifecycle, config, static: isStatic });
    }
  }
}
