/** Translates requests and limits into cgroup settings. */
import type { HugepageLimit, Init, LinuxContainerResources } from '../../cri/index.js';
import {
  type AnyContainer,
  addToLimits,
  claimedByContainer,
  cpuQuotaMicros,
  cpuShares,
  milliCpuOfShares,
  type Pod,
  pageSizeName,
  parseQuantity,
  type Quantity,
  qosClass,
  quantityMillis,
  quantityMilliValue,
  quantityUnits,
  quantityValue,
  workloadLimits,
  workloadRequests,
} from '../../kube/index.js';
import type { PodBounds } from '../contracts.js';
import { memoryQosSettings } from './memory-qos.js';
import { containerOomScoreAdj } from './oom-score.js';
import type { RuntimeSettings } from './settings.js';
import { swapResources } from './swap.js';

export interface LinuxResourceAmounts {
  /** Undefined when there is no request, which is not the same as a request of 0. */
  readonly cpuRequest: Quantity | undefined;
  readonly cpuLimit: Quantity | undefined;
  readonly memoryLimit: Quantity | undefined;
}

/** The settings common to sandboxes, their overhead and containers. */
export function baseResources(
  { cpuRequest, cpuLimit, memoryLimit }: LinuxResourceAmounts,
  settings: RuntimeSettings,
  hasExclusiveCpus = false,
): Init<LinuxContainerResources> {
  const limitBytes = bytesOf(memoryLimit);
  const periodMicros = Math.round(settings.cpuCfsQuotaPeriodMs * 1000);
  const quotaMicros = hasExclusiveCpus ? -1 : cpuQuotaMicros(millisOf(cpuLimit), periodMicros);
  return {
    cpuShares: cpuShares(millisOf(cpuRequest ?? cpuLimit)),
    ...(limitBytes === 0 ? {} : { memoryLimitInBytes: limitBytes }),
    ...(settings.cpuCfsQuota ? { cpuPeriod: periodMicros, cpuQuota: quotaMicros } : {}),
    ...(settings.cgroupVersion === 2 && !settings.singleProcessOomKill
      ? { unified: { 'memory.oom.group': '1' } }
      : {}),
  };
}

/** The sum over the pod's containers, without the sandbox overhead. */
export function sandboxResources(
  pod: Pod,
  settings: RuntimeSettings,
  hasExclusiveCpus = false,
): Init<LinuxContainerResources> {
  const requests = workloadRequests(pod);
  const limits = workloadLimits(pod);
  return baseResources(
    { cpuRequest: requests.get('cpu'), cpuLimit: limits.get('cpu'), memoryLimit: limits.get('memory') },
    settings,
    hasExclusiveCpus,
  );
}

/** What the bounds of the pod's cgroup leave for the containers, without the sandbox overhead. */
export function boundedSandboxResources(
  pod: Pod,
  bounds: PodBounds,
  settings: Pick<RuntimeSettings, 'cpuCfsQuota'>,
): Init<LinuxContainerResources> {
  const { cpuShares: shares, quotaMicros, periodMicros, memoryLimitBytes } = bounds;
  const overhead = pod.spec.overhead ?? {};
  const overheadMillis = quantityMillis(overhead.cpu);
  const left = (limit: number, taken: number): number => (limit > 0 ? Math.max(limit - taken, 0) : limit);
  const millis = Math.max(milliCpuOfShares(shares) - overheadMillis, 0);
  return {
    cpuShares: overheadMillis === 0 ? shares : cpuShares(millis),
    ...(memoryLimitBytes > 0
      ? { memoryLimitInBytes: left(memoryLimitBytes, quantityUnits(overhead.memory)) }
      : {}),
    ...(settings.cpuCfsQuota
      ? { cpuPeriod: periodMicros, cpuQuota: left(quotaMicros, cpuQuotaMicros(overheadMillis, periodMicros)) }
      : {}),
  };
}

/** The sandbox overhead is both request and limit. */
export function overheadResources(pod: Pod, settings: RuntimeSettings): Init<LinuxContainerResources> {
  const { overhead } = pod.spec;
  if (overhead === undefined) return {};
  const cpu = parseQuantity(overhead.cpu ?? '0');
  return baseResources(
    { cpuRequest: cpu, cpuLimit: cpu, memoryLimit: parseQuantity(overhead.memory ?? '0') },
    settings,
  );
}

export function containerResources(
  pod: Pod,
  container: AnyContainer,
  settings: RuntimeSettings,
  hasExclusiveCpus = false,
): Init<LinuxContainerResources> {
  const cpuRequestText = container.resources?.requests?.cpu;
  const memoryLimit = withClaims(pod, container, 'memory');
  const base = baseResources(
    {
      // What claims give raises the limit only, not the share.
      cpuRequest:
        cpuRequestText === undefined ? effectiveLimit(pod, container, 'cpu') : parseQuantity(cpuRequestText),
      cpuLimit: withClaims(pod, container, 'cpu'),
      memoryLimit,
    },
    settings,
    hasExclusiveCpus,
  );
  const swap = swapResources(pod, container, bytesOf(memoryLimit), settings);
  const memoryQos = memoryQosSettings(
    {
      requestBytes: quantityUnits(container.resources?.requests?.memory),
      limitBytes: quantityUnits(container.resources?.limits?.memory),
      isPodLimited: pod.spec.resources?.limits?.memory !== undefined,
      isGuaranteed: qosClass(pod) === 'Guaranteed',
    },
    settings,
  );
  return {
    ...base,
    ...(swap.memorySwapLimitInBytes === undefined
      ? {}
      : { memorySwapLimitInBytes: swap.memorySwapLimitInBytes }),
    unified: { ...base.unified, ...swap.unified, ...memoryQos },
    oomScoreAdj: containerOomScoreAdj(pod, container, settings.memoryCapacityBytes),
    hugepageLimits: hugepageLimits(pod, container, settings.hugePageSizes),
  };
}

/** A container without its own limit is bound by the pod's. */
export function effectiveLimit(
  pod: Pod,
  container: AnyContainer,
  name: 'cpu' | 'memory',
): Quantity | undefined {
  const own = container.resources?.limits?.[name];
  const limit = own === undefined ? undefined : parseQuantity(own);
  const podLimit = pod.spec.resources?.limits?.[name];
  if (podLimit === undefined || (limit !== undefined && limit.nanos !== 0n)) return limit;
  return parseQuantity(podLimit);
}

/** A limit of the container's own does not hold for what its claims give it. */
function withClaims(pod: Pod, container: AnyContainer, name: 'cpu' | 'memory'): Quantity | undefined {
  const limit = effectiveLimit(pod, container, name);
  const own = container.resources?.limits?.[name];
  if (limit === undefined || own === undefined || parseQuantity(own).nanos === 0n) return limit;
  const limits = new Map([[name, limit]]);
  addToLimits(limits, claimedByContainer(pod, container.name));
  return limits.get(name);
}

/** One entry for each page size of the kernel: 0 where unset, so that no huge pages are unlimited. */
export function hugepageLimits(
  pod: Pod,
  container: AnyContainer,
  pageSizes: readonly string[],
): Init<HugepageLimit>[] {
  const ofPod = pod.spec.resources?.limits ?? {};
  const own = container.resources?.limits ?? {};
  const amounts = new Map(Object.entries(own).map(([name, text]) => [name, parseQuantity(text)]));
  for (const [name, amount] of claimedByContainer(pod, container.name)) {
    // Without a limit of its own the container is bound by the pod's, which has the claims in it.
    if (Object.hasOwn(own, name) || !Object.hasOwn(ofPod, name))
      addToLimits(amounts, new Map([[name, amount]]));
  }
  for (const [name, text] of Object.entries(ofPod))
    if (!amounts.has(name)) amounts.set(name, parseQuantity(text));
  const limits = new Map<string, number>();
  for (const [name, amount] of amounts) {
    if (name.startsWith('hugepages-'))
      limits.set(pageSizeName(quantityUnits(name.slice('hugepages-'.length))), bytesOf(amount));
  }
  return pageSizes.map((pageSize) => ({ pageSize, limit: limits.get(pageSize) ?? 0 }));
}

function millisOf(quantity: Quantity | undefined): number {
  return quantity === undefined ? 0 : safeInteger(quantityMilliValue(quantity));
}

function bytesOf(quantity: Quantity | undefined): number {
  return quantity === undefined ? 0 : safeInteger(quantityValue(quantity));
}

/** More than 2^53 of anything is beyond any machine's limit. */
function safeInteger(value: bigint): number {
  return Math.min(Number(value), Number.MAX_SAFE_INTEGER);
}
