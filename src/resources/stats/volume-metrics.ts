/** Metrics of persistent volumes, one series per claim. */
import type { Registry } from '../../metrics/index.js';
import type { FsStats, VolumeStats } from './summary-types.js';

const figures: readonly (readonly [name: string, help: string, field: Exclude<keyof FsStats, 'time'>])[] = [
  ['kubelet_volume_stats_capacity_bytes', 'Size of the volume in bytes.', 'capacityBytes'],
  ['kubelet_volume_stats_available_bytes', 'Available bytes in the volume.', 'availableBytes'],
  ['kubelet_volume_stats_used_bytes', 'Used bytes in the volume.', 'usedBytes'],
  ['kubelet_volume_stats_inodes', 'Inodes of the volume.', 'inodes'],
  ['kubelet_volume_stats_inodes_free', 'Free inodes of the volume.', 'inodesFree'],
  ['kubelet_volume_stats_inodes_used', 'Used inodes of the volume.', 'inodesUsed'],
];

/** `claims` is read at each scrape; a claim no longer in it loses its series. */
export function registerVolumeMetrics(registry: Registry, claims: () => readonly VolumeStats[]): void {
  const labelNames = ['namespace', 'persistentvolumeclaim'];
  const gauges = figures.map(([name, help, field]) => ({
    gauge: registry.gauge(name, help, labelNames),
    field,
  }));
  let shown: readonly Readonly<Record<string, string>>[] = [];
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
