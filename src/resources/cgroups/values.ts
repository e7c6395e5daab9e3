/** Computes the cgroup values of pods and of all pods together. */
import {
  type Container,
  cpuQuotaMicros,
  cpuShares,
  isSidecar,
  minShares,
  type Pod,
  pageSizeName,
  parseQuantity,
  podLimits,
  podRequests,
  type Quantity,
  qosClass,
  quantityMilliValue,
  quantityUnits,
  quantityValue,
} from '../../kube/index.js';

/** Omitted values stay unchanged. */
export interface CgroupValues {
  readonly cpuShares?: number;
  /** A quota of -1 means none. */
  readonly cpuQuota?: { readonly quotaMicros: number; readonly periodMicros: number };
  readonly memoryLimitBytes?: number;
  readonly pidsLimit?: number;
  /** By size, such as `2MB`; unlisted sizes get none. Every write sets all sizes. */
  readonly hugePages: ReadonlyMap<string, number> | 'unlimited';
}

export interface PodCgroupSettings {
  readonly cpuCfsQuota: boolean;
  readonly cpuCfsQuotaPeriodMs: number;
  /** 0 or less for no limit. */
  readonly podPidsLimit: number;
}

const hugePagesPrefix = 'hugepages-';

export function podCgroupValues(pod: Pod, settings: PodCgroupSettings): CgroupValues {
  const { cpuCfsQuota, cpuCfsQuotaPeriodMs, podPidsLimit } = settings;
  const pids = podPidsLimit > 0 ? { pidsLimit: podPidsLimit } : {};
  const requests = podRequests(pod);
  const hugePages = hugePageBytes(requests);
  if (qosClass(pod) === 'BestEffort') return { cpuShares: minShares, ...pids, hugePages };
  const limits = podLimits(pod);
  const periodMicros = Math.round(cpuCfsQuotaPeriodMs * 1000);
  const cpuLimit = isLimited(pod, 'cpu') ? millisOf(limits.get('cpu')) : undefined;
  const quotaMicros = cpuCfsQuota ? cpuQuotaMicros(cpuLimit ?? 0, periodMicros) : -1;
  return {
    cpuShares: cpuShares(millisOf(requests.get('cpu'))),
    ...(cpuLimit === undefined ? {} : { cpuQuota: { quotaMicros, periodMicros } }),
    ...(isLimited(pod, 'memory') ? { memoryLimitBytes: bytesOf(limits.get('memory')) } : {}),
    ...pids,
    hugePages,
  };
}

export type ResizeDirection = 'up' | 'down';

/**
 * The new values of one resource in one direction; undefined if none of them moves that way. A limit no
 * longer wanted stays, and no limit (-1) is below every other.
 */
export function resizedValues(
  wanted: CgroupValues,
  now: { readonly cpuShares: number; readonly quotaMicros: number; readonly memoryLimitBytes: number },
  resource: 'cpu' | 'memory',
  direction: ResizeDirection,
): CgroupValues | undefined {
  const { cpuShares: shares, cpuQuota, memoryLimitBytes, hugePages } = wanted;
  const moves = (to: number | undefined, from: number): boolean =>
    to !== undefined && (direction === 'up' ? to > from : to < from);
  const moved: Partial<CgroupValues> =
    resource === 'memory'
      ? { ...(moves(memoryLimitBytes, now.memoryLimitBytes) && { memoryLimitBytes }) }
      : {
          ...(moves(shares, now.cpuShares) && { cpuShares: shares }),
          ...(moves(cpuQuota?.quotaMicros, now.quotaMicros) && { cpuQuota }),
        };
  return Object.keys(moved).length === 0 ? undefined : { ...moved, hugePages };
}

/** The pod's CPU request as counted for its QoS class. */
export function requestedMilliCpu(pod: Pod): number {
  return millisOf(podRequests(pod).get('cpu'));
}

/** The sum of the limits limits the pod only if every container has one. */
function isLimited({ spec }: Pod, resource: 'cpu' | 'memory'): boolean {
  if (spec.resources?.limits?.[resource] !== undefined) return true;
  const limitOf = ({ resources }: Container): number =>
    Number(quantityMilliValue(parseQuantity(resources?.limits?.[resource] ?? '0')));
  let sidecars = 0;
  for (const container of spec.initContainers ?? []) {
    if (sidecars + limitOf(container) === 0) return false;
    if (isSidecar(container)) sidecars += limitOf(container);
  }
  return spec.containers.every((container) => limitOf(container) > 0);
}

function hugePageBytes(amounts: ReadonlyMap<string, Quantity>): Map<string, number> {
  const named = [...amounts].filter(([name]) => name.startsWith(hugePagesPrefix));
  return new Map(
    named.map(([name, amount]) => [
      pageSizeName(quantityUnits(name.slice(hugePagesPrefix.length))),
      bytesOf(amount),
    ]),
  );
}

function millisOf(amount: Quantity | undefined): number {
  return amount === undefined ? 0 : Number(quantityMilliValue(amount));
}

function bytesOf(amount: Quantity | undefined): number {
  return amount === undefined ? 0 : Number(quantityValue(amount));
}
