/** The metrics of volumes: what was done to them, what an earlier run left, and how many there are. */
import { Registry } from '../metrics/index.js';

export type VolumeMetrics = ReturnType<typeof createVolumeMetrics>;

/** Without a registry nobody reads them. */
export function createVolumeMetrics(registry = new Registry()) {
  return {
    operationDuration: registry.histogram(
      'storage_operation_duration_seconds',
      '[BETA] Duration of operations on volumes.',
      ['volume_plugin', 'operation_name', 'status', 'migrated'],
      [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600],
    ),
    overallDuration: registry.histogram(
      'volume_operation_total_seconds',
      '[BETA] Duration of mounts from the moment that the volume was wanted.',
      ['plugin_name', 'operation_name'],
      [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600],
    ),
    reconstructed: registry.counter(
      'reconstruct_volume_operations_total',
      'Volumes that were found on disk at the start.',
    ),
    reconstructErrors: registry.counter(
      'reconstruct_volume_operations_errors_total',
      'Volumes that were found on disk at the start and that no plugin knows.',
    ),
    cleaned: registry.counter(
      'force_cleaned_failed_volume_operations_total',
      'Attempts to remove volumes that no plugin knows.',
    ),
    cleanErrors: registry.counter(
      'force_cleaned_failed_volume_operation_errors_total',
      'Failed attempts to remove volumes that no plugin knows.',
    ),
    seLinux: {
      container: labelFindings(registry, 'container', 'containers whose SELinux options make no label', [
        'access_mode',
      ]),
      pod_context_mismatch: labelFindings(
        registry,
        'pod_context_mismatch',
        'volumes that containers of a pod use with different SELinux labels',
        ['access_mode'],
      ),
      volume_context_mismatch: labelFindings(
        registry,
        'volume_context_mismatch',
        'volumes that pods use with different SELinux labels',
        ['volume_plugin', 'access_mode'],
      ),
    },
    seLinuxAdmitted: registry.gauge(
      'volume_manager_selinux_volumes_admitted_total',
      'Volumes that are mounted with an SELinux label.',
      ['volume_plugin', 'access_mode'],
    ),
  };
}

/** Gauges by type, as in the reference, although they only grow. What kept pods from starting, and what would have if all volumes were mounted with their labels. */
function labelFindings<Label extends string>(
  registry: Registry,
  name: string,
  what: string,
  labels: readonly Label[],
) {
  const prefix = `volume_manager_selinux_${name}`;
  return {
    errors: registry.gauge(`${prefix}_errors_total`, `Pods that did not start: ${what}.`, labels),
    warnings: registry.gauge(`${prefix}_warnings_total`, `Pods that started all the same: ${what}.`, labels),
  };
}

export interface VolumeCounts {
  readonly desired: ReadonlyMap<string, number>;
  readonly actual: ReadonlyMap<string, number>;
}

/** Counts the volumes of each plugin at each scrape. */
export function registerVolumeCounts(registry: Registry, counts: () => VolumeCounts): void {
  const volumes = registry.gauge('volume_manager_total_volumes', 'Volumes by plugin and state.', [
    'plugin_name',
    'state',
  ]);
  let shown: ReadonlySet<string> = new Set();
  registry.onCollect(() => {
    const { desired, actual } = counts();
    const names = new Set([...desired.keys(), ...actual.keys()]);
    // A plugin that has had volumes has none, which is not the last number.
    const all = new Set([...shown, ...names]);
    shown = all;
    for (const name of all) {
      volumes.set(desired.get(name) ?? 0, { plugin_name: name, state: 'desired_state_of_world' });
      volumes.set(actual.get(name) ?? 0, { plugin_name: name, state: 'actual_state_of_world' });
    }
  });
}
