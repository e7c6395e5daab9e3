/** The metrics of resources: the work on cgroups, evictions, who measures, and the volumes of claims. */
import { type Clock, TimedOut, withTimeout } from '../async/index.js';
import { type MetricLabels, Registry } from '../metrics/index.js';
import type { FsStats, VolumeStats } from './stats/summary-types.js';

export type CgroupMetrics = ReturnType<typeof createCgroupMetrics>;

/** Without a registry nobody reads them. */
export function createCgroupMetrics(registry = new Registry()) {
  return {
    operationDuration: registry.histogram(
      'kubelet_cgroup_manager_duration_seconds',
      'Seconds that operations on cgroups took.',
      ['operation_type'],
    ),
  };
}

export type MemoryQosMetrics = ReturnType<typeof createMemoryQosMetrics>;

/** Of a node that reserves memory by QoS class. Without a registry nobody reads them. */
export function createMemoryQosMetrics(registry = new Registry()) {
  return {
    minBytes: registry.gauge(
      'kubelet_memory_qos_node_memory_min_bytes',
      'Total memory.min protection of Guaranteed pods of the node in bytes.',
    ),
    lowBytes: registry.gauge(
      'kubelet_memory_qos_node_memory_low_bytes',
      'Total memory.low protection of Burstable pods of the node in bytes.',
    ),
  };
}

export type AllocationMetrics = ReturnType<typeof createAllocationMetrics>;

/** Of the resizes that users ask for. Without a registry nobody reads them. */
export function createAllocationMetrics(registry = new Registry()) {
  return {
    requested: registry.counter(
      'kubelet_container_requested_resizes_total',
      'Changes of requests and limits of containers that were asked for.',
      ['resource', 'requirement', 'operation'],
    ),
    pending: registry.gauge('kubelet_pod_pending_resizes', 'Pods whose resize waits, by reason.', [
      'reason',
      'priority_bucket',
    ]),
    inProgress: registry.gauge(
      'kubelet_pod_in_progress_resizes',
      'Pods whose resize was accepted and is being made real.',
    ),
    infeasible: registry.counter(
      'kubelet_pod_infeasible_resizes_total',
      'Resizes that this node can never do, by cause.',
      ['reason_detail'],
    ),
    deferredAccepted: registry.counter(
      'kubelet_pod_deferred_accepted_resizes_total',
      'Resizes that were accepted after they had waited, by what had them tried again.',
      ['retry_trigger'],
    ),
    deferredDuration: registry.histogram(
      'kubelet_pod_deferred_resize_duration_seconds',
      'How long resizes waited for room, by how the wait ended.',
      ['resolution', 'priority_bucket'],
      [5, 10, 15, 20, 30, 45, 60, 90, 120, 150, 180, 300, 600, 1200, 1800, 3600],
    ),
  };
}

export type EvictionMetrics = ReturnType<typeof createEvictionMetrics>;

/** Without a registry nobody reads them. */
export function createEvictionMetrics(registry = new Registry()) {
  return {
    /** By signal, or by the limit of local storage that was passed. */
    evictions: registry.counter('kubelet_evictions', 'Pods that were evicted, by eviction signal.', [
      'eviction_signal',
    ]),
    statsAge: registry.histogram(
      'kubelet_eviction_stats_age_seconds',
      'Age in seconds of the statistics that a pod was evicted by, by eviction signal.',
      ['eviction_signal'],
    ),
  };
}

const figures: readonly (readonly [name: string, help: string, field: Exclude<keyof FsStats, 'time'>])[] = [
  ['kubelet_volume_stats_capacity_bytes', 'Size of the volume in bytes.', 'capacityBytes'],
  ['kubelet_volume_stats_available_bytes', 'Available bytes in the volume.', 'availableBytes'],
  ['kubelet_volume_stats_used_bytes', 'Used bytes in the volume.', 'usedBytes'],
  ['kubelet_volume_stats_inodes', 'Inodes of the volume.', 'inodes'],
  ['kubelet_volume_stats_inodes_free', 'Free inodes of the volume.', 'inodesFree'],
  ['kubelet_volume_stats_inodes_used', 'Used inodes of the volume.', 'inodesUsed'],
];

export type StatsMetrics = ReturnType<typeof createStatsMetrics>;

/** Without a registry nobody reads them. */
export function createStatsMetrics(registry = new Registry()) {
  return {
    provider: registry.gauge(
      'kubelet_metrics_provider',
      'Who measures pods and containers: always 1, for the provider that is used.',
      ['provider'],
    ),
  };
}

/** How long it takes to measure volumes; a driver by its name, others by how. */
export function createVolumeMeasureMetrics(registry = new Registry()) {
  return {
    duration: registry.histogram(
      'kubelet_volume_metric_collection_duration_seconds',
      'Duration of measuring a volume.',
      ['metric_source'],
      [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    ),
  };
}

/** Of the log of one container. */
export type LogLabels = MetricLabels<'uid' | 'namespace' | 'pod' | 'container'>;

/** A disk that hangs must not keep the other metrics from being read. */
const logPatienceMs = 5_000;

/**
 * `measure` runs at each scrape; a container no longer in its answer loses its series. A scrape that has waited for long
 * shows the figures of the one before, and the next one waits for the same answer.
 */
export function registerLogMetrics(
  registry: Registry,
  clock: Clock,
  measure: () => AsyncIterable<{ readonly labels: LogLabels; readonly usedBytes: number }>,
): void {
  const gauge = registry.gauge(
    'kubelet_container_log_filesystem_used_bytes',
    'Bytes that the logs of a container take.',
    ['uid', 'namespace', 'pod', 'container'],
  );
  let shown: readonly LogLabels[] = [];
  const look = async (): Promise<void> => {
    const found: { readonly labels: LogLabels; readonly usedBytes: number }[] = [];
    for await (const log of measure()) found.push(log);
    for (const labels of shown) gauge.remove(labels);
    for (const { labels, usedBytes } of found) gauge.set(usedBytes, labels);
    shown = found.map(({ labels }) => labels);
  };
  let underway: Promise<void> | undefined;
  registry.onScrape(async () => {
    underway ??= look().finally(() => {
      underway = undefined;
    });
    const looking = underway;
    try {
      await withTimeout(clock, logPatienceMs, undefined, () => looking);
    } catch (error) {
      if (!(error instanceof TimedOut)) throw error;
    }
  });
}

/** `claims` is read at each scrape; a claim no longer in it loses its series. */
export function registerVolumeMetrics(registry: Registry, claims: () => readonly VolumeStats[]): void {
  const labelNames = ['namespace', 'persistentvolumeclaim'] as const;
  const gauges = figures.map(([name, help, field]) => ({
    gauge: registry.gauge(name, help, labelNames),
    field,
  }));
  let shown: readonly MetricLabels<(typeof labelNames)[number]>[] = [];
  registry.onCollect(() => {
    for (const labels of shown) for (const { gauge } of gauges) gauge.remove(labels);
    shown = claims().flatMap((volume) => {
      const { pvcRef } = volume;
      if (pvcRef === undefined) return [];
      const labels = { namespace: pvcRef.namespace, persistentvolumeclaim: pvcRef.name };
      for (const { gauge, field } of gauges) gauge.set(volume[field] ?? 0, labels);
      return [labels];
    });
  });
}
