/** The pod-level resources: the sum of the containers, and what the status shows. */
import {
  addQuantities,
  aggregatePod,
  cpuShares,
  cpuWeight,
  formatQuantity,
  milliCpuOfShares,
  type Pod,
  type PodStatus,
  parseQuantity,
  podRequests,
  type Quantity,
  type QuantityText,
  quantityMillis,
  type ResourceList,
  type ResourceQuantities,
  type ResourceRequirements,
  sharesOfWeight,
} from '../../kube/index.js';
import {
  bytesText,
  meaningfulCpu,
  milliText,
  smallestMeaningfulLimitMillis,
  smallestMeaningfulRequestMillis,
} from './container-resources.js';

/** A pod's cgroup settings; absent where there is no limit or it could not be read. */
export interface PodCgroupResources {
  readonly cpuRequestMillis?: number | undefined;
  readonly cpuLimitMillis?: number | undefined;
  readonly memoryLimitBytes?: number | undefined;
}

export function aggregatePodRequests(pod: Pod): ResourceList {
  return toList(podRequests(pod));
}

/** The pod's total limits; overhead only adds to existing limits. */
export function aggregatePodLimits(pod: Pod): ResourceList {
  const totals = aggregatePod(pod.spec, 'limits');
  for (const [name, text] of Object.entries(pod.spec.overhead ?? {})) {
    if ((totals.get(name)?.nanos ?? 0n) !== 0n) add(totals, name, parseQuantity(text));
  }
  return toList(totals);
}

/**
 * `status.resources`: the sums until the API shows the pod Running, the actual cgroup settings afterwards.
 */
export function podLevelResources(
  pod: Pod,
  old: PodStatus,
  cgroup: PodCgroupResources | undefined,
): ResourceRequirements {
  const { spec } = pod;
  if (pod.status?.phase !== 'Running') {
    return requirements(spec.resources, aggregatePodRequests(pod), aggregatePodLimits(pod));
  }
  const requests: ResourceList = { ...spec.resources?.requests };
  const limits: ResourceList = { ...spec.resources?.limits };
  const previous = old.phase === 'Running' ? old.resources : undefined;

  if (cgroup?.cpuRequestMillis !== undefined) {
    if (!isSameRequest(requests.cpu, cgroup.cpuRequestMillis)) {
      const actual = milliText(cgroup.cpuRequestMillis);
      assign(requests, 'cpu', meaningfulCpu(requests.cpu, actual, smallestMeaningfulRequestMillis));
    }
  } else {
    keepOld(pod, 'cpu', requests, previous?.requests, 'requests');
  }
  // No cgroup has the memory request, so there is nothing to read back.
  if (requests.memory === undefined) assign(requests, 'memory', aggregatePodRequests(pod).memory);

  if (cgroup?.cpuLimitMillis !== undefined) {
    const actual = milliText(cgroup.cpuLimitMillis);
    assign(limits, 'cpu', meaningfulCpu(limits.cpu, actual, smallestMeaningfulLimitMillis));
  } else {
    keepOld(pod, 'cpu', limits, previous?.limits, 'limits');
  }
  if (cgroup?.memoryLimitBytes !== undefined) limits.memory = bytesText(cgroup.memoryLimitBytes);
  else keepOld(pod, 'memory', limits, previous?.limits, 'limits');
  return requirements(spec.resources, requests, limits);
}

/** Whether the shares read back are those of the request: several shares have the same weight of cgroup v2. */
function isSameRequest(requested: QuantityText | undefined, readMillis: number): boolean {
  if (requested === undefined) return false;
  const shares = cpuShares(quantityMillis(requested));
  return readMillis === milliCpuOfShares(sharesOfWeight(cpuWeight(shares)));
}

/** The value of the previous status, else that of the spec with overhead, as the cgroup would have it. */
function keepOld(
  pod: Pod,
  name: 'cpu' | 'memory',
  list: ResourceList,
  previous: ResourceList | undefined,
  kind: 'requests' | 'limits',
): void {
  if (previous?.[name] !== undefined) {
    list[name] = previous[name];
    return;
  }
  const overhead = pod.spec.overhead?.[name];
  const current = list[name];
  if (overhead === undefined || current === undefined) return;
  const amount = parseQuantity(current);
  if (kind === 'limits' && amount.nanos === 0n) return;
  list[name] = formatQuantity(addQuantities(amount, parseQuantity(overhead)));
}

function assign(list: ResourceList, name: string, text: string | undefined): void {
  if (text !== undefined) list[name] = text;
}

function requirements(
  base: ResourceRequirements | undefined,
  requests: ResourceList,
  limits: ResourceList,
): ResourceRequirements {
  return {
    ...(base?.claims === undefined ? {} : { claims: base.claims }),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
    ...(Object.keys(requests).length === 0 ? {} : { requests }),
  };
}

function add(totals: ResourceQuantities, name: string, amount: Quantity): void {
  const sum = totals.get(name);
  totals.set(name, sum === undefined ? amount : addQuantities(sum, amount));
}

function toList(totals: ResourceQuantities): ResourceList {
  return Object.fromEntries([...totals].map(([name, amount]) => [name, formatQuantity(amount)]));
}
