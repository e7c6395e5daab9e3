/** What a pod asks of a node, and what the pods of the node have taken. */
import {
  type Node,
  type Pod,
  podRequests,
  type Quantity,
  tryParseQuantity,
  zeroQuantity,
} from '../../kube/index.js';

const requestsOf = new WeakMap<Pod['spec'], ReadonlyMap<string, Quantity>>();

/** Asked for once for each pod and each decision; a spec never changes in place. */
function requests(pod: Pod): ReadonlyMap<string, Quantity> {
  const known = requestsOf.get(pod.spec);
  if (known !== undefined) return known;
  const computed = podRequests(pod);
  requestsOf.set(pod.spec, computed);
  return computed;
}

/** The resources of which the node has too little left, by name; `pods` is its number of pods. */
export function insufficientResources(pod: Pod, node: Node, others: readonly Pod[]): string[] {
  const allocatable = node.status?.allocatable ?? {};
  const amount = (name: string): Quantity => tryParseQuantity(allocatable[name] ?? '0') ?? zeroQuantity;
  const missing: string[] = [];
  const most = Number(amount('pods').nanos / 1_000_000_000n);
  if (allocatable.pods !== undefined && others.length >= most) missing.push('pods');
  for (const [name, wanted] of requests(pod)) {
    if (wanted.nanos <= 0n) continue;
    const taken = others.reduce((sum, other) => sum + (requests(other).get(name)?.nanos ?? 0n), 0n);
    if (taken + wanted.nanos > amount(name).nanos) missing.push(name);
  }
  return missing;
}

interface WantedPort {
  readonly ip: string;
  readonly protocol: string;
  readonly port: number;
}

function hostPorts({ spec }: Pod): WantedPort[] {
  const sidecars = (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  return [...spec.containers, ...sidecars].flatMap(({ ports = [] }) =>
    ports.flatMap(({ hostPort = 0, hostIP = '', protocol = 'TCP' }) =>
      hostPort > 0 ? [{ ip: hostIP === '' ? '0.0.0.0' : hostIP, protocol, port: hostPort }] : [],
    ),
  );
}

/** The ports of the node that the pod wants and another pod has. */
export function takenHostPorts(pod: Pod, others: readonly Pod[]): number[] {
  const wanted = hostPorts(pod);
  if (wanted.length === 0) return [];
  const taken = others.flatMap(hostPorts);
  const collides = (a: WantedPort, b: WantedPort): boolean =>
    a.port === b.port &&
    a.protocol === b.protocol &&
    (a.ip === b.ip || a.ip === '0.0.0.0' || b.ip === '0.0.0.0');
  return wanted.filter((one) => taken.some((other) => collides(one, other))).map(({ port }) => port);
}
