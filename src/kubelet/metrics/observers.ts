/** Turns what the rooms tell of themselves into the kubelet's metrics. */
import type { Pod } from '../../kube/index.js';
import type { Registry } from '../../metrics/index.js';
import type { ContainerTermination } from '../../pods/status/index.js';
import {
  type ImageObserver,
  type PullRecordsObserver,
  rememberedRecords,
} from '../../runtime-manager/images/index.js';
import type { RuntimeObserver } from '../../runtime-manager/index.js';
import type { PlegObserver } from '../../runtime-manager/pleg/index.js';
import type { KubeletMetrics } from './metrics.js';

export const containerTypes = {
  container: 'container',
  initContainer: 'init_container',
  ephemeralContainer: 'ephemeral_container',
} as const;

/** Counts containers that ended. */
export function terminationCounter(
  metrics: Pick<KubeletMetrics, 'terminatedContainers'>,
): (termination: ContainerTermination) => void {
  return ({ kind, exitCode, reason }) =>
    metrics.terminatedContainers.inc({
      container_type: containerTypes[kind],
      exit_code: String(exitCode),
      reason,
    });
}

/** Counts the ephemeral containers of the configured pods each time that metrics are read. */
export function countEphemeralContainers(
  registry: Pick<Registry, 'onCollect'>,
  metrics: Pick<KubeletMetrics, 'ephemeralContainers'>,
  pods: () => readonly Pod[],
): void {
  registry.onCollect(() => {
    let count = 0;
    for (const { spec } of pods()) count += spec.ephemeralContainers?.length ?? 0;
    metrics.ephemeralContainers.set(count);
  });
}

export function runtimeObserver(metrics: KubeletMetrics): RuntimeObserver {
  return {
    resized: ({ durationMs, failed }) => metrics.podResize.observe(durationMs, { success: String(!failed) }),
    imageVolumesRequested: (count) => metrics.imageVolumesRequested.inc({}, count),
    imageVolumesMounted: ({ count, failed }) =>
      (failed ? metrics.imageVolumeErrors : metrics.imageVolumesMounted).inc({}, count),
    sandboxStarted(pod) {
      metrics.startedPods.inc();
      if (pod.spec.hostUsers === false) metrics.startedUserPods.inc();
    },
    sandboxFailed(pod) {
      metrics.startedPodErrors.inc();
      if (pod.spec.hostUsers === false) metrics.startedUserPodErrors.inc();
    },
    sandboxRun({ runtimeHandler, durationMs, failed }) {
      const labels = { runtime_handler: runtimeHandler };
      metrics.sandboxDuration.observe(durationMs / 1000, labels);
      if (failed) metrics.sandboxErrors.inc(labels);
    },
    containerStarted: (kind) => metrics.startedContainers.inc({ container_type: containerTypes[kind] }),
    startFailed: (kind, reason) =>
      metrics.startedContainerErrors.inc({ container_type: containerTypes[kind], code: reason }),
  };
}

export function plegObserver(metrics: KubeletMetrics): PlegObserver {
  return {
    relisted(durationMs, sinceLastMs) {
      metrics.plegRelist.observe(durationMs / 1000);
      if (sinceLastMs !== undefined) metrics.plegInterval.observe(sinceLastMs / 1000);
    },
    podRelisted: (durationMs) => metrics.plegPodRelist.observe(durationMs / 1000),
    discarded: () => metrics.plegDiscards.inc(),
    lastSeen: (wallMs) => metrics.plegLastSeen.set(Math.floor(wallMs / 1000)),
    eventsConnected: () => metrics.plegEventConnections.inc(),
    eventsFailed: () => metrics.plegEventErrors.inc(),
    eventReceived: (latencyMs) => metrics.plegEventLatency.observe(latencyMs / 1000),
    observed(pods) {
      let running = 0;
      const states: Record<string, number> = { created: 0, running: 0, exited: 0, unknown: 0 };
      for (const pod of pods) {
        if (pod.sandboxes.some(({ state }) => state === 'running')) running++;
        for (const { state } of pod.containers) states[state] = (states[state] ?? 0) + 1;
      }
      metrics.runningPods.set(running);
      for (const [state, count] of Object.entries(states))
        metrics.runningContainers.set(count, { container_state: state });
    },
  };
}

const sizeBounds: readonly (readonly [number, string])[] = [
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

/** The label of an image's size. */
export function imageSizeLabel(sizeBytes: number | undefined): string {
  if (sizeBytes === undefined) return 'N/A';
  return sizeBounds.find(([megabytes]) => sizeBytes <= megabytes * 1024 * 1024)?.[1] ?? 'GT100GB';
}

/** Counts what is remembered of pulls and how often it decided. */
export function pullRecordsObserver(registry: Registry): PullRecordsObserver {
  const checks = registry.counter(
    'kubelet_imagemanager_image_mustpull_checks_total',
    'Checks whether a pod may use an image that is on the machine.',
    ['result'],
  );
  const intents = registry.gauge(
    'kubelet_imagemanager_ondisk_pullintents',
    'Pulls that are under way or whose end is not known.',
  );
  const records = registry.gauge(
    'kubelet_imagemanager_ondisk_pulledrecords',
    'Images whose pull is remembered.',
  );
  const intentUsage = registry.gauge(
    'kubelet_imagemanager_inmemory_pullintents_usage_percent',
    'How full the memory for pulls under way is.',
  );
  const recordUsage = registry.gauge(
    'kubelet_imagemanager_inmemory_pulledrecords_usage_percent',
    'How full the memory for remembered pulls is.',
  );
  return {
    checked: (result) => checks.inc({ result }),
    counted: (counts) => {
      intents.set(counts.intents);
      records.set(counts.records);
      intentUsage.set(Math.min(100, (counts.intents * 100) / rememberedRecords));
      recordUsage.set(Math.min(100, (counts.records * 100) / rememberedRecords));
    },
  };
}

export function imageObserver(metrics: KubeletMetrics): ImageObserver {
  const told = (value: boolean | undefined): string => (value === undefined ? 'unknown' : String(value));
  return {
    ensured: (policy, present, pulled) =>
      metrics.imageRequests.inc({
        pull_policy: policy.toLowerCase(),
        present_locally: told(present),
        pull_required: told(pulled),
      }),
    pulled: (durationMs, sizeBytes) =>
      metrics.imagePull.observe(durationMs / 1000, { image_size_in_bytes: imageSizeLabel(sizeBytes) }),
  };
}
