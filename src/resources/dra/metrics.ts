/** The metrics of dynamic resources. */
import type { Registry } from '../../metrics/index.js';

/**
 * From 0.1 s to 40 s, each bucket larger than the one before by the same factor. Written out: the bounds are labels, and
 * the last digit of a power differs between machines and languages.
 */
const buckets = [
  0.1, 0.1534127404634391, 0.23535468936502524, 0.36106407876409946, 0.5539182980610752, 0.849781240983936,
  1.303672689737678, 1.9999999999999993, 3.0682548092687805, 4.7070937873005025, 7.221281575281985,
  11.078365961221499, 16.995624819678714, 26.07345379475354, 39.99999999999997,
];

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
