/** Puts together what a node has, what is reserved, who was given what, and what is free. */
import {
  addQuantities,
  formatQuantity,
  type Node,
  type Pod,
  parseQuantity,
  podLimits,
  podRequests,
  type Quantity,
  qosClass,
  quantityOf,
  type ResourceList,
  subtractQuantities,
  zeroQuantity,
} from '../../kube/index.js';
import { isHugePageResource, nodeReservation, type ReservationSettings } from '../../node/index.js';
import { bounded } from '../what-if/contracts.js';
import type {
  ContainerHolding,
  DescribedHolder,
  DescribedPod,
  DescribedResource,
  NodeDescription,
  NodePressure,
  ResourceHoldings,
} from './contracts.js';

export interface DescribeInput {
  readonly node: Node;
  readonly reservation: ReservationSettings;
  /** Those that count against the node. */
  readonly pods: readonly Pod[];
  readonly holdings: readonly ResourceHoldings[];
  readonly pressure: NodePressure;
}

export function describeNode({
  node,
  reservation,
  pods,
  holdings,
  pressure,
}: DescribeInput): NodeDescription {
  const { metadata, spec, status = {} } = node;
  const { nodeInfo } = status;
  const sorted = [...pods].sort(byName);
  return {
    name: metadata.name ?? '',
    system: {
      kubeletVersion: nodeInfo?.kubeletVersion ?? '',
      containerRuntimeVersion: nodeInfo?.containerRuntimeVersion ?? '',
      osImage: nodeInfo?.osImage ?? '',
      kernelVersion: nodeInfo?.kernelVersion ?? '',
      architecture: nodeInfo?.architecture ?? '',
    },
    addresses: status.addresses ?? [],
    labels: metadata.labels ?? {},
    taints: spec?.taints ?? [],
    conditions: status.conditions ?? [],
    pressure,
    resources: describedResources(node, reservation, pods),
    pods: bounded(sorted.map(describedPod)),
    holdings: describedHoldings(holdings, pods),
  };
}

function describedResources(
  { status = {} }: Node,
  reservation: ReservationSettings,
  pods: readonly Pod[],
): readonly DescribedResource[] {
  const { capacity = {}, allocatable = {} } = status;
  const eviction = nodeReservation({ ...reservation, systemReserved: {}, kubeReserved: {} }, capacity);
  const requested = totals(pods, podRequests);
  const limits = totals(pods, podLimits);
  const count = quantityOf(pods.length);
  return resourceNames([capacity, allocatable], requested).map((name) => {
    const offered = amountIn(allocatable, name);
    const asked = name === 'pods' ? count : (requested.get(name) ?? zeroQuantity);
    return {
      name,
      capacity: formatQuantity(amountIn(capacity, name)),
      systemReserved: formatQuantity(amountIn(reservation.systemReserved, name)),
      kubeReserved: formatQuantity(amountIn(reservation.kubeReserved, name)),
      evictionReserved: formatQuantity(amountIn(eviction, name)),
      inHugePages: name === 'memory' ? formatQuantity(hugePagesOf(capacity)) : '0',
      allocatable: formatQuantity(offered),
      requested: formatQuantity(asked),
      limits: formatQuantity(limits.get(name) ?? zeroQuantity),
      free: formatQuantity(subtractQuantities(offered, asked)),
    };
  });
}

const firstResources = ['cpu', 'memory', 'ephemeral-storage'];
const lastResource = 'pods';

function resourceNames(
  lists: readonly ResourceList[],
  requested: ReadonlyMap<string, Quantity>,
): readonly string[] {
  const names = new Set([...lists.flatMap((list) => Object.keys(list)), ...requested.keys()]);
  const rank = (name: string): number => {
    const first = firstResources.indexOf(name);
    if (first >= 0) return first;
    if (name === lastResource) return firstResources.length + 2;
    return firstResources.length + (isHugePageResource(name) ? 0 : 1);
  };
  return [...names].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
}

function hugePagesOf(capacity: ResourceList): Quantity {
  return Object.entries(capacity)
    .filter(([name]) => isHugePageResource(name))
    .reduce((sum, [, amount]) => addQuantities(sum, parseQuantity(amount)), quantityOf(0, 'BinarySI'));
}

function totals(
  pods: readonly Pod[],
  of: (pod: Pod) => ReadonlyMap<string, Quantity>,
): ReadonlyMap<string, Quantity> {
  const sums = new Map<string, Quantity>();
  for (const pod of pods) {
    for (const [name, amount] of of(pod)) {
      const known = sums.get(name);
      sums.set(name, known === undefined ? amount : addQuantities(known, amount));
    }
  }
  return sums;
}

function describedPod(pod: Pod): DescribedPod {
  const { namespace, name, uid } = pod.metadata;
  return {
    namespace,
    name,
    uid,
    qosClass: qosClass(pod),
    priority: pod.spec.priority ?? 0,
    requests: listOf(podRequests(pod)),
    limits: listOf(podLimits(pod)),
  };
}

function listOf(amounts: ReadonlyMap<string, Quantity>): ResourceList {
  return Object.fromEntries(
    [...amounts]
      .filter(([, { nanos }]) => nanos > 0n)
      .map(([name, amount]) => [name, formatQuantity(amount)]),
  );
}

function describedHoldings(
  holdings: readonly ResourceHoldings[],
  pods: readonly Pod[],
): NodeDescription['holdings'] {
  const byUid = new Map(pods.map((pod) => [pod.metadata.uid, pod]));
  const sharedCpus = holdings.find((each) => each.sharedCpus !== undefined)?.sharedCpus;
  const holders = joined(holdings.flatMap(({ held }) => held)).map(({ podUid, ...held }): DescribedHolder => {
    // What a pod that has ended held is given back a moment later.
    const { namespace = '', name = '' } = byUid.get(podUid)?.metadata ?? {};
    return { namespace, name, uid: podUid, ...held };
  });
  return {
    ...(sharedCpus === undefined ? {} : { sharedCpus }),
    holders: bounded(holders.sort((a, b) => (holderKey(a) < holderKey(b) ? -1 : 1))),
  };
}

/** One entry for each container, whichever managers tell of it. */
function joined(all: readonly ContainerHolding[]): readonly ContainerHolding[] {
  const found = new Map<string, ContainerHolding>();
  for (const each of all) {
    const key = `${each.podUid}/${each.container}`;
    const known = found.get(key);
    const devices = [...(known?.devices ?? []), ...(each.devices ?? [])];
    found.set(key, { ...known, ...each, ...(devices.length === 0 ? {} : { devices }) });
  }
  return [...found.values()];
}

function holderKey({ namespace, name, uid, container }: DescribedHolder): string {
  return `${namespace}/${name}/${uid}/${container}`;
}

function byName({ metadata: a }: Pod, { metadata: b }: Pod): number {
  return `${a.namespace}/${a.name}` < `${b.namespace}/${b.name}` ? -1 : 1;
}

/** Pods name resources as they like, also `constructor`. */
function amountIn(list: Readonly<Record<string, string>>, name: string): Quantity {
  return Object.hasOwn(list, name) ? parseQuantity(list[name] ?? '0') : zeroQuantity;
}
