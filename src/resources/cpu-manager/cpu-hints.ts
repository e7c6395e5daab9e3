/** Which NUMA nodes could serve a request for CPUs. Pure. */
import { CpuSet } from '../../kube/index.js';
import { maskSize, masksBySize, positionsIn, type TopologyHint } from '../topology-manager/index.js';
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
  const wanted = available.union(reusable);
  const nodes = numaNodeIds.flatMap((id, position) => {
    const cpus = topology.numaNodes.get(id);
    if (cpus === undefined) return [];
    const [first = 0] = cpus;
    return [
      {
        bit: 1 << position,
        total: cpus.size,
        usable: wanted.intersection(cpus).size,
        mustBeIn: !reusable.isEmpty && !reusable.intersection(cpus).isEmpty,
        socket: topology.placeOf.get(first)?.socket ?? 0,
      },
    ];
  });
  const totals = sumsOverSets(nodes.map(({ total }) => total));
  const usables = sumsOverSets(nodes.map(({ usable }) => usable));
  const needed = nodes.reduce((sum, { mustBeIn }, at) => (mustBeIn ? sum | (1 << at) : sum), 0);
  let smallest = nodes.length;
  const found: { readonly set: number; readonly size: number }[] = [];
  for (const { set, size } of setsOf(nodes.length)) {
    if (size < smallest && (totals[set] ?? 0) >= count) smallest = size;
    if ((set & needed) === needed && (usables[set] ?? 0) >= count) found.push({ set, size });
  }
  const nodesPerSocket = Math.floor(nodes.length / topology.socketCount);
  const fewestSockets = Math.ceil(smallest / nodesPerSocket);
  const masks = sumsOverSets(nodes.map(({ bit }) => bit));
  const socketsOf = (set: number): number =>
    new Set(positionsIn(set).map((position) => nodes[position]?.socket)).size;
  const isSocketWise = options.alignBySocket && nodesPerSocket > 0;
  return found.map(({ set, size }) => ({
    mask: masks[set] ?? 0,
    preferred: size === smallest || (isSocketWise && socketsOf(set) === fewestSockets),
  }));
}

/** For every set of positions, as bits, the sum of their figures. */
function sumsOverSets(figures: readonly number[]): Float64Array {
  const sums = new Float64Array(2 ** figures.length);
  for (const [at, figure] of figures.entries()) {
    for (let set = 0; set < 1 << at; set++) sums[set | (1 << at)] = (sums[set] ?? 0) + figure;
  }
  return sums;
}

interface SizedSet {
  readonly set: number;
  readonly size: number;
}

/** The sets of the last number of nodes that was asked for; a machine has one. */
let lastSets: { readonly count: number; readonly sets: readonly SizedSet[] } | undefined;

/** Small ones first. Each container asks for them, and they are up to 65535. */
function setsOf(count: number): readonly SizedSet[] {
  if (lastSets?.count !== count) {
    lastSets = { count, sets: [...masksBySize(count)].map((set) => ({ set, size: maskSize(set) })) };
  }
  return lastSets.sets;
}

/** The hints of CPUs that a container or pod has: exactly those. None if it now asks for another number. */
export function hintsOfHeld(policy: StaticPolicy, held: CpuSet, count: number): readonly TopologyHint[] {
  return held.size === count ? cpuHints(policy, { count, available: held, reusable: CpuSet.empty }) : [];
}
