/** Turns what the rooms tell of themselves into the kubelet's metrics. */
import { containerTypes, type Pod } from '../../kube/index.js';
import type { Registry } from '../../metrics/index.js';
import type { ContainerTermination } from '../../pods/status/index.js';
import type { KubeletMetrics } from './metrics.js';

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
