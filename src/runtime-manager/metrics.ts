/** The metrics of pods on the runtime: their starts and resizes, what the PLEG sees of them, and their images. */
import type { ObservedPod } from '../cri/index.js';
import { Registry } from '../metrics/index.js';

export type RuntimeMetrics = ReturnType<typeof createRuntimeMetrics>;

/** Without a registry nobody reads them. */
export function createRuntimeMetrics(registry = new Registry()) {
  return {
    startedPods: registry.counter('kubelet_started_pods_total', 'Pod sandboxes that were to be started.'),
    startedPodErrors: registry.counter(
      'kubelet_started_pods_errors_total',
      'Pod sandboxes that could not be started.',
    ),
    startedUserPods: registry.counter(
      'kubelet_started_user_namespaced_pods_total',
      'Pod sandboxes with users of their own that were to be started.',
    ),
    startedUserPodErrors: registry.counter(
      'kubelet_started_user_namespaced_pods_errors_total',
      'Pod sandboxes with users of their own that could not be started.',
    ),
    sandboxDuration: registry.histogram(
      'kubelet_run_podsandbox_duration_seconds',
      'Duration in seconds of starting a pod sandbox.',
      ['runtime_handler'],
    ),
    sandboxErrors: registry.counter(
      'kubelet_run_podsandbox_errors_total',
      'Pod sandboxes that failed to start.',
      ['runtime_handler'],
    ),
    startedContainers: registry.counter(
      'kubelet_started_containers_total',
      'Containers that were to be started.',
      ['container_type'],
    ),
    startedContainerErrors: registry.counter(
      'kubelet_started_containers_errors_total',
      'Containers that could not be started.',
      ['container_type', 'code'],
    ),
    imageVolumesRequested: registry.counter(
      'kubelet_image_volume_requested_total',
      '[BETA] Images that were asked for as volumes.',
    ),
    imageVolumesMounted: registry.counter(
      'kubelet_image_volume_mounted_succeed_total',
      '[BETA] Image volumes that containers were created with.',
    ),
    imageVolumeErrors: registry.counter(
      'kubelet_image_volume_mounted_errors_total',
      '[BETA] Image volumes that containers could not be created with.',
    ),
    resizeDurationMs: registry.histogram(
      'kubelet_pod_resize_duration_milliseconds',
      'Duration in milliseconds of changes to the resources of running pods.',
      ['success'],
      [10, 50, 100, 500, 1000, 2000, 5000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000],
    ),
  };
}

export type PlegMetrics = ReturnType<typeof createPlegMetrics>;

/** Without a registry nobody reads them. */
export function createPlegMetrics(registry = new Registry()) {
  return {
    relistDuration: registry.histogram(
      'kubelet_pleg_relist_duration_seconds',
      'Duration in seconds of a relist.',
    ),
    relistInterval: registry.histogram(
      'kubelet_pleg_relist_interval_seconds',
      'Interval in seconds between relists.',
    ),
    podRelistDuration: registry.histogram(
      'kubelet_pleg_pod_relist_duration_seconds',
      'Duration in seconds of the relist of one pod.',
    ),
    discardedEvents: registry.counter(
      'kubelet_pleg_discard_events',
      'Events that were lost because nobody took them.',
    ),
    lastSeen: registry.gauge(
      'kubelet_pleg_last_seen_seconds',
      'When the PLEG was last seen active, in Unix seconds.',
    ),
    streamConnections: registry.counter(
      'kubelet_evented_pleg_connection_success_count',
      'How often the stream of runtime events was had.',
    ),
    streamErrors: registry.counter(
      'kubelet_evented_pleg_connection_error_count',
      'How often the stream of runtime events could not be had or broke.',
    ),
    eventLatency: registry.histogram(
      'kubelet_evented_pleg_connection_latency_seconds',
      'Duration in seconds from what happened in the runtime to its event.',
    ),
    runningPods: registry.gauge('kubelet_running_pods', 'Pods with a running sandbox.'),
    containers: registry.gauge('kubelet_running_containers', 'Containers by state.', ['container_state']),
  };
}

export function countObserved(
  { runningPods, containers }: Pick<PlegMetrics, 'runningPods' | 'containers'>,
  pods: readonly ObservedPod[],
): void {
  let running = 0;
  const states = { created: 0, running: 0, exited: 0, unknown: 0 };
  for (const pod of pods) {
    if (pod.sandboxes.some(({ state }) => state === 'running')) running++;
    for (const { state } of pod.containers) states[state]++;
  }
  runningPods.set(running);
  for (const [state, count] of Object.entries(states)) containers.set(count, { container_state: state });
}

export type ImageMetrics = ReturnType<typeof createImageMetrics>;

/** Without a registry nobody reads them. */
export function createImageMetrics(registry = new Registry()) {
  return {
    requests: registry.counter('kubelet_image_manager_ensure_image_requests_total', 'Requests for images.', [
      'pull_policy',
      'present_locally',
      'pull_required',
    ]),
    pullDuration: registry.histogram(
      'kubelet_image_pull_duration_seconds',
      'Duration in seconds of image pulls.',
      ['image_size_in_bytes'],
      [1, 5, 10, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600],
    ),
    collected: registry.counter(
      'kubelet_image_garbage_collected_total',
      'Images that were removed because nothing used them.',
      ['reason'],
    ),
  };
}

const sizeBounds: readonly (readonly [megabytes: number, label: string])[] = [
  [10, '0-10MB'],
  [100, '10MB-100MB'],
  [500, '100MB-500MB'],
  [1_000, '500MB-1GB'],
  [5_000, '1GB-5GB'],
  [10_000, '5GB-10GB'],
  [20_000, '10GB-20GB'],
  [30_000, '20GB-30GB'],
  [40_000, '30GB-40GB'],
  [60_000, '40GB-60GB'],
  [100_000, '60GB-100GB'],
];

/** The label `image_size_in_bytes`. */
export function imageSizeLabel(sizeBytes: number | undefined): string {
  if (sizeBytes === undefined) return 'N/A';
  return sizeBounds.find(([megabytes]) => sizeBytes <= megabytes * 1024 * 1024)?.[1] ?? 'GT100GB';
}

export type PullRecordMetrics = ReturnType<typeof createPullRecordMetrics>;

/** Of a node that remembers who may use an image. Without a registry nobody reads them. */
export function createPullRecordMetrics(registry = new Registry()) {
  return {
    checks: registry.counter(
      'kubelet_imagemanager_image_mustpull_checks_total',
      'Checks whether a pod may use an image that is on the machine.',
      ['result'],
    ),
    intents: registry.gauge(
      'kubelet_imagemanager_ondisk_pullintents',
      'Pulls that are under way or whose end is not known.',
    ),
    records: registry.gauge('kubelet_imagemanager_ondisk_pulledrecords', 'Images whose pull is remembered.'),
    intentUsage: registry.gauge(
      'kubelet_imagemanager_inmemory_pullintents_usage_percent',
      'How full the memory for pulls under way is.',
    ),
    recordUsage: registry.gauge(
      'kubelet_imagemanager_inmemory_pulledrecords_usage_percent',
      'How full the memory for remembered pulls is.',
    ),
  };
}

export type PluginMetrics = ReturnType<typeof createPluginMetrics>;

/** Of a node that asks plugins for credentials. Without a registry nobody reads them. */
export function createPluginMetrics(registry = new Registry()) {
  return {
    configuration: registry.gauge(
      'kubelet_credential_provider_config_info',
      'The credential provider configuration in use.',
      ['hash'],
    ),
    duration: registry.histogram(
      'kubelet_credential_provider_plugin_duration',
      'Duration in seconds of credential provider plugins.',
      ['plugin_name'],
    ),
    errors: registry.counter(
      'kubelet_credential_provider_plugin_errors_total',
      'Runs of credential provider plugins that failed.',
      ['plugin_name'],
    ),
  };
}
