/** What a pod counts for in the room that it leaves to others: what it was given, and what it still has of before. */
import {
  compareQuantities,
  type Pod,
  podRequests,
  type Quantity,
  quantityMillis,
  type ResourceRequirements,
} from '../../kube/index.js';

/** What the runtime was last told; undefined where nothing of it is in force. */
export interface ResourcesInForce {
  container(name: string): ResourceRequirements | undefined;
  readonly pod: ResourceRequirements | undefined;
}

/** A pod is asked for often, for each resize that waits, and changes rarely. */
const known = new WeakMap<Pod, ReadonlyMap<string, Quantity>>();

function requestsOf(allocated: Pod): ReadonlyMap<string, Quantity> {
  const before = known.get(allocated);
  if (before !== undefined) return before;
  const requests = podRequests(allocated);
  known.set(allocated, requests);
  return requests;
}

/** A pod that shrinks keeps its place until what runs of it has shrunk. */
export function effectiveRequests(allocated: Pod, inForce: ResourcesInForce): ReadonlyMap<string, Quantity> {
  const requests = requestsOf(allocated);
  const { spec } = allocated;
  const containers = [...(spec.initContainers ?? []), ...spec.containers];
  const isAsGiven =
    isCovered(spec.resources, inForce.pod) &&
    containers.every(({ name, resources }) => isCovered(resources, inForce.container(name)));
  if (isAsGiven) return requests;
  const current = <C extends { name: string; resources?: ResourceRequirements }>(container: C): C => {
    const now = inForce.container(container.name);
    return now === undefined ? container : { ...container, resources: overlaid(container.resources, now) };
  };
  const before = podRequests({
    ...allocated,
    spec: {
      ...spec,
      containers: spec.containers.map(current),
      ...(spec.initContainers === undefined ? {} : { initContainers: spec.initContainers.map(current) }),
      ...(inForce.pod === undefined ? {} : { resources: overlaid(spec.resources, inForce.pod) }),
    },
  });
  const most = new Map(requests);
  for (const [name, amount] of before) {
    const given = most.get(name);
    if (given === undefined || compareQuantities(given, amount) < 0) most.set(name, amount);
  }
  return most;
}

/** Whether a pod leaves more room to others than before. */
export function hasShrunk(
  before: ReadonlyMap<string, Quantity>,
  now: ReadonlyMap<string, Quantity>,
): boolean {
  return ['cpu', 'memory'].some((name) => (now.get(name)?.nanos ?? 0n) < (before.get(name)?.nanos ?? 0n));
}

/** Whether nothing more is requested by what is in force. */
function isCovered(given: ResourceRequirements | undefined, now: ResourceRequirements | undefined): boolean {
  return Object.entries(now?.requests ?? {}).every(
    ([name, amount]) => given?.requests?.[name] === amount || quantityMillis(amount) === 0,
  );
}

function overlaid(
  given: ResourceRequirements | undefined,
  { requests }: ResourceRequirements,
): ResourceRequirements {
  return { ...given, requests: { ...given?.requests, ...requests } };
}
