/** Which NUMA nodes could serve a request for CPUs. Pure. */
import { CpuSet } from '../../kube/index.js';
import { masksBySize, positionsIn, type TopologyHint } from '../topology-manager/index.js';
import type { StaticPolicy } from './static-policy.js';

export interface HintRequest {
  readonly count: number;
  readonly available: CpuSet;
  /** All of these must be in the nodes of a hint. */
  readonly reusable: CpuSet;
}

/** Small sets of nodes first. Preferred are those as small as a machine where everything is free would need. */
export function cpuHints(
  policy: StaticPolicy,
  { count, available, reusable }: HintRequest,
): readonly TopologyHint[] {
  const { topology, numaNodeIds, options } = policy;
  const nodes = numaNodeIds.flatMap((id, position) => {
    const cpus = topology.numaNodes.get(id);
    if (cpus === undefined) return [];
    const [first = 0] = cpus;
    return [
      {
        position,
        total: cpus.size,
        usable: available.union(reusable).intersection(cpus).size,
        mustBeIn: !reusable.intersection(cpus).isEmpty,
        socket: topology.placeOf.get(first)?.socket ?? 0,
      },
    ];
  });
  let smallest = nodes.length;
  const masks: { readonly mask: number; readonly size: number; readonly sockets: number }[] = [];
  for (const positions of masksBySize(nodes.length)) {
    const members = positionsIn(positions).flatMap((at) => nodes[at] ?? []);
    const total = members.reduce((sum, node) => sum + node.total, 0);
    if (total >= count) smallest = Math.min(smallest, members.length);
    const usable = members.reduce((sum, node) => sum + node.usable, 0);
    const holdsReusable = nodes.every((node) => !node.mustBeIn || members.includes(node));
    if (!holdsReusable || usable < count) continue;
    const mask = members.reduce((sum, { position }) => sum | (1 << position), 0);
    masks.push({ mask, size: members.length, sockets: new Set(members.map(({ socket }) => socket)).size });
  }
  const nodesPerSocket = Math.floor(nodes.length / topology.socketCount);
  const fewestSockets = Math.ceil(smallest / nodesPerSocket);
  return masks.map(({ mask, size, sockets }) => ({
    mask,
    preferred:
      size === smallest || (options.alignBySocket && nodesPerSocket > 0 && sockets === fewestSockets),
  }));
}

/** The hints of CPUs that a container or pod has: exactly those. None if it now asks for another number. */
export function hintsOfHeld(policy: StaticPolicy, held: CpuSet, count: number): readonly TopologyHint[] {
  return held.size === count ? cpuHints(policy, { count, available: held, reusable: CpuSet.empty }) : [];
}
