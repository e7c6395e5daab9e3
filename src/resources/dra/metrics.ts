/** The metrics of dynamic resources. */
import type { Registry } from '../../metrics/index.js';

/** From 0.1 s to 40 s, each bucket larger than the one before by the same factor. */
const buckets = Array.from({ length: 15 }, (_, index) => 0.1 * 400 ** (index / 14));

export type DraMetrics = ReturnType<typeof createDraMetrics>;

export function createDraMetrics(registry: Registry) {
  return {
    operations: registry.histogram(
      'dra_operations_duration_seconds',
      'Duration of preparing or unpreparing all dynamic resources of a pod.',
      ['operation_name', 'is_error'],
      buckets,
    ),
    calls: registry.histogram(
      'dra_grpc_operations_duration_seconds',
      'Duration of calls of drivers of dynamic resources.',
      ['driver_name', 'method_name', 'grpc_status_code'],
      buckets,
    ),
    prepareSkips: registry.counter(
      'dra_node_prepare_skips_total',
      'Claims that were not prepared because the driver does not want it.',
      ['driver_name'],
    ),
    unprepareSkips: registry.counter(
      'dra_node_unprepare_skips_total',
      'Claims that were not unprepared because the driver does not want it.',
      ['driver_name'],
    ),
  };
}

/** Counts prepared claims by driver at each scrape; `<any>` counts all of them once. */
export function registerClaimsInUse(
  registry: Registry,
  prepared: () => readonly (readonly string[])[],
): void {
  const inUse = registry.gauge(
    'dra_resource_claims_in_use',
    'ResourceClaims that are prepared on this node, by driver.',
    ['driver_name'],
  );
  let shown: readonly string[] = [];
  registry.onCollect(() => {
    const claims = prepared();
    const counts = new Map<string, number>([['<any>', claims.length]]);
    for (const drivers of claims)
      for (const driver of drivers) counts.set(driver, (counts.get(driver) ?? 0) + 1);
    for (const driver_name of shown) inUse.remove({ driver_name });
    for (const [driver_name, count] of counts) inUse.set(count, { driver_name });
    shown = [...counts.keys()];
  });
}
