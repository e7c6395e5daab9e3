/** Computes the cgroup values of pods and of all pods together. */
import {
  type Container,
  cpuQuotaMicros,
  cpuShares,
  isPodLevelResource,
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

/** The memory files of version 2 that protect or slow down a cgroup. */
export type UnifiedFile = 'memory.min' | 'memory.low' | 'memory.high';

/** Omitted values stay unchanged. */
export interface CgroupValues {
  readonly cpuShares?: number;
  /** A quota of -1 means none. */
  readonly cpuQuota?: CpuQuota;
  /** 0 leaves the limit as it is, -1 means none. */
  readonly memoryLimitBytes?: number;
  readonly pidsLimit?: number;
  /** Which CPUs it may use, as a list such as `0-3,8`. */
  readonly cpus?: string;
  /** By size, such as `2MB`; unlisted sizes get none. Every write sets all sizes. */
  readonly hugePages: ReadonlyMap<string, number> | 'unlimited';
  /** Written as they are; version 2 only. */
  readonly unified?: Readonly<Partial<Record<UnifiedFile, string>>>;
}

export interface CpuQuota {
  readonly quotaMicros: number;
  readonly periodMicros: number;
}

export const defaultPeriodMicros = 100_000;

/** How the memory of pods is protected and slowed down, with version 2 and the feature gate MemoryQoS. */
export interface PodMemoryQos {
  /** TieredReservation protects what pods request. */
  readonly policy: 'None' | 'TieredReservation';
  /** Where `memory.high` lies between request and limit; undefined for nowhere. */
  readonly throttlingFactor: number | undefined;
  readonly pageSizeBytes: number;
}

export interface PodCgroupSettings {
  readonly cpuCfsQuota: boolean;
  readonly cpuCfsQuotaPeriodMs: number;
  /** 0 or less for no limit. */
  readonly podPidsLimit: number;
  /** Absent where the kernel or the configuration has none. */
  readonly memoryQos?: PodMemoryQos;
}

const hugePagesPrefix = 'hugepages-';

/** A container with CPUs for itself is not held back by a quota, so its pod has none. */
export function podCgroupValues(
  pod: Pod,
  settings: PodCgroupSettings,
  hasExclusiveCpus = false,
): CgroupValues {
  const { cpuCfsQuota, cpuCfsQuotaPeriodMs, podPidsLimit } = settings;
  const pids = podPidsLimit > 0 ? { pidsLimit: podPidsLimit } : {};
  const requests = podRequests(pod);
  const hugePages = hugePageBytes(requests);
  if (qosClass(pod) === 'BestEffort') return { cpuShares: minShares, ...pids, hugePages };
  const limits = podLimits(pod);
  const periodMicros = Math.round(cpuCfsQuotaPeriodMs * 1000);
  const cpuLimit = isLimited(pod, 'cpu') ? millisOf(limits.get('cpu')) : undefined;
  const hasQuota = cpuCfsQuota && !hasExclusiveCpus;
  const quotaMicros = hasQuota ? cpuQuotaMicros(cpuLimit ?? 0, periodMicros) : -1;
  return {
    cpuShares: cpuShares(millisOf(requests.get('cpu'))),
    ...(cpuLimit === undefined ? {} : { cpuQuota: { quotaMicros, periodMicros } }),
    ...(isLimited(pod, 'memory') ? { memoryLimitBytes: bytesOf(limits.get('memory')) } : {}),
    ...pids,
    hugePages,
    ...memoryQosValues(pod, bytesOf(requests.get('memory')), bytesOf(limits.get('memory')), settings),
  };
}

function memoryQosValues(
  pod: Pod,
  requestBytes: number,
  limitBytes: number,
  { memoryQos }: PodCgroupSettings,
): Pick<CgroupValues, 'unified'> {
  if (memoryQos === undefined) return {};
  const isProtected = memoryQos.policy === 'TieredReservation' && requestBytes > 0;
  const protection = qosClass(pod) === 'Guaranteed' ? 'memory.min' : 'memory.low';
  const highBytes = throttledBytes(requestBytes, limitBytes, memoryQos);
  const isThrottled = hasOwnResources(pod) && isLimited(pod, 'memory') && highBytes !== undefined;
  const unified = {
    ...(isProtected ? { [protection]: String(requestBytes) } : {}),
    ...(isThrottled ? { 'memory.high': String(highBytes) } : {}),
  };
  return Object.keys(unified).length === 0 ? {} : { unified };
}

/** Whether the pod has requests or limits beside those of its containers. */
function hasOwnResources({ spec: { resources } }: Pod): boolean {
  return [resources?.requests, resources?.limits].some((list) =>
    Object.keys(list ?? {}).some(isPodLevelResource),
  );
}

/** From where memory is reclaimed from a pod before it reaches its limit; undefined for nowhere. */
function throttledBytes(
  requestBytes: number,
  limitBytes: number,
  { throttlingFactor, pageSizeBytes }: PodMemoryQos,
): number | undefined {
  if (throttlingFactor === undefined || limitBytes === 0 || requestBytes === limitBytes) return undefined;
  const target = Math.floor(requestBytes + (limitBytes - requestBytes) * throttlingFactor);
  const highBytes = Math.floor(target / pageSizeBytes) * pageSizeBytes;
  return highBytes > requestBytes ? highBytes : undefined;
}

/** The pod's CPU request as counted for its QoS class. */
export function requestedMilliCpu(pod: Pod): number {
  return millisOf(podRequests(pod).get('cpu'));
}

/** The pod's memory request as counted for its QoS class. */
export function requestedMemoryBytes(pod: Pod): number {
  return bytesOf(podRequests(pod).get('memory'));
}

/** The sum of the limits limits the pod only if every app and init container has its own. */
function isLimited({ spec }: Pod, resource: 'cpu' | 'memory'): boolean {
  if (spec.resources?.limits?.[resource] !== undefined) return true;
  const hasLimit = ({ resources }: Container): boolean =>
    quantityMilliValue(parseQuantity(resources?.limits?.[resource] ?? '0')) > 0n;
  return [...(spec.initContainers ?? []), ...spec.containers].every(hasLimit);
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
