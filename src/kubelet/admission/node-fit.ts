/** Refuses pods that the cluster's view of this node rules out: by resources, affinity, name or taints. */
import {
  type AnyContainer,
  addQuantities,
  compareQuantities,
  isStaticPod,
  matchesNodeAffinity,
  type Node,
  type Pod,
  parseQuantity,
  podRequests,
  type Quantity,
  quantityMilliValue,
  quantityValue,
  type ResourceList,
  subtractQuantities,
  toleratesTaint,
  zeroQuantity,
} from '../../kube/index.js';
import { isBackedByClaim } from '../../resources/dra/index.js';
import { type Admission, type AdmissionRule, admitted, refusedFor, type Shortage } from './admission.js';

/** Each is asked for the node at every pod; while none is known, nothing speaks against a pod. */
type NodeNow = () => Node | undefined;

/** How many devices of each resource are in use; undefined for a pod that holds none. */
export type DevicesInUse = (podUid: string) => ReadonlyMap<string, number> | undefined;

/**
 * Whether what the other pods leave of the node is enough. Devices that were given out count also where the node does
 * not offer them any more.
 */
export function enoughResources(nodeNow: NodeNow, devicesInUse?: DevicesInUse): AdmissionRule {
  return {
    name: 'resources',
    admit({ pod, others, holdsRoom = false, requestsOf = podRequests }) {
      const offered = nodeNow()?.status?.allocatable;
      if (offered === undefined || holdsRoom) return admitted;
      const allocatable = withDevices(offered, devicesInUse?.(pod.metadata.uid));
      const asked = podRequests(withoutClaimed(pod));
      return refusedFor(
        shortagesOf(asked, () => others.map((other) => requestsOf(withoutClaimed(other))), allocatable),
      );
    },
  };
}

/** The pod without the extended resources that a claim gives it: the node does not offer those. */
function withoutClaimed(pod: Pod): Pod {
  if ((pod.status?.extendedResourceClaimStatus?.requestMappings ?? []).length === 0) return pod;
  const left = <C extends AnyContainer>(container: C): C => {
    const own = (list: ResourceList = {}): ResourceList =>
      Object.fromEntries(
        Object.entries(list).filter(([name]) => !isBackedByClaim(pod, container.name, name)),
      );
    const { resources } = container;
    if (resources === undefined) return container;
    return {
      ...container,
      resources: { ...resources, requests: own(resources.requests), limits: own(resources.limits) },
    };
  };
  const { initContainers, containers } = pod.spec;
  return {
    ...pod,
    spec: {
      ...pod.spec,
      containers: containers.map(left),
      ...(initContainers === undefined ? {} : { initContainers: initContainers.map(left) }),
    },
  };
}

function withDevices(
  allocatable: ResourceList,
  inUse: ReadonlyMap<string, number> | undefined,
): ResourceList {
  if (inUse === undefined) return allocatable;
  const raised: ResourceList = { ...allocatable };
  for (const [resource, count] of inUse) {
    const offered = quantityValue(parseQuantity(allocatable[resource] ?? '0'));
    if (offered < BigInt(count)) raised[resource] = String(count);
  }
  return raised;
}

/** Whether the pod means this node: its selector and affinity, and the name that it was bound to. */
export function nodeAffinityHandler(nodeName: string, nodeNow: NodeNow): AdmissionRule {
  return {
    name: 'node affinity',
    admit({ pod }) {
      const node = nodeNow();
      if (node === undefined) return admitted;
      if (!matchesNodeAffinity(pod, { name: nodeName, labels: node.metadata.labels ?? {} })) {
        return predicate('NodeAffinity', "node(s) didn't match Pod's node affinity/selector");
      }
      const bound = pod.spec.nodeName ?? '';
      return bound === '' || bound === nodeName
        ? admitted
        : predicate('NodeName', "node(s) didn't match the requested node name");
    },
  };
}

/** Taints that keep pods from being scheduled are the scheduler's; only those that would evict the pod count here. */
export function toleratedTaints(nodeNow: NodeNow, comparesNumbers = false): AdmissionRule {
  return {
    name: 'taints',
    admit({ pod }) {
      if (isStaticPod(pod)) return admitted;
      const taints = nodeNow()?.spec?.taints ?? [];
      const untolerated = taints.some(
        (taint) =>
          taint.effect === 'NoExecute' && !toleratesTaint(pod.spec.tolerations ?? [], taint, comparesNumbers),
      );
      return untolerated
        ? predicate('TaintToleration', "node(s) had taints that the pod didn't tolerate")
        : admitted;
    },
  };
}

/** A label that says it is made for another operating system than the node's own label has. */
export function operatingSystemLabel(nodeNow: NodeNow): AdmissionRule {
  return {
    name: 'operating system label',
    admit({ pod }) {
      const wanted = pod.metadata.labels?.['kubernetes.io/os'];
      const actual = nodeNow()?.metadata.labels?.['kubernetes.io/os'] ?? 'linux';
      return wanted === undefined || wanted === actual
        ? admitted
        : {
            admit: false,
            reason: 'PodOSSelectorNodeLabelDoesNotMatch',
            message: "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
          };
    },
  };
}

/** In the order in which they are told: the three that every node has, then the others by name. */
const firstResources = ['cpu', 'memory', 'ephemeral-storage'];

function shortagesOf(
  requests: ReadonlyMap<string, Quantity>,
  others: () => readonly ReadonlyMap<string, Quantity>[],
  allocatable: ResourceList,
): readonly Shortage[] {
  const wanted = [...requests]
    .filter(([resource, requested]) => requested.nanos > 0n && isCounted(resource, allocatable))
    .sort(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1));
  if (wanted.length === 0) return [];
  const used = new Map<string, Quantity>();
  for (const other of others()) {
    for (const [resource, amount] of other) {
      used.set(resource, addQuantities(used.get(resource) ?? zeroQuantity, amount));
    }
  }
  return wanted.flatMap(([resource, requested]) => {
    const capacity = parseQuantity(allocatable[resource] ?? '0');
    const taken = used.get(resource) ?? zeroQuantity;
    if (compareQuantities(requested, subtractQuantities(capacity, taken)) <= 0) return [];
    const told = (amount: Quantity): number =>
      Number(resource === 'cpu' ? quantityMilliValue(amount) : quantityValue(amount));
    return [{ resource, requested: told(requested), used: told(taken), capacity: told(capacity) }];
  });
}

/** Resources of the whole cluster are not on any node; who placed the pod has counted them. */
function isCounted(resource: string, allocatable: ResourceList): boolean {
  return firstResources.includes(resource) || Object.hasOwn(allocatable, resource);
}

function rank(resource: string): number {
  const index = firstResources.indexOf(resource);
  return index < 0 ? firstResources.length : index;
}

function predicate(name: string, message: string): Admission {
  return { admit: false, reason: name, message: `Predicate ${name} failed: ${message}` };
}
