/** Decides which NUMA nodes share a request, and how much each gives, so that what is left is even. */
import type { CpuSet } from '../../kube/index.js';
import type { CpuTopology } from './cpu-topology.js';
import { FreeCpus } from './free-cpus.js';

export interface CpuDistribution {
  readonly nodes: readonly number[];
  /** What each of the nodes gives. */
  readonly share: number;
  /** The nodes that give a further group each, in order; a node may be there several times. */
  readonly remainder: readonly number[];
}

export interface DistributionOptions {
  /** CPUs are given in groups of this size. */
  readonly groupSize: number;
  readonly alignBySocket: boolean;
}

/** A combination of nodes with the evenness of what it leaves: the lower, the better. */
interface NodeCombination extends CpuDistribution {
  readonly score: number;
  readonly isInOneSocket: boolean;
}

/**
 * Combinations and their subsets grow exponentially. Machines have 8 nodes or fewer, which need 6561 at most; on a
 * larger one the best of the first is taken.
 */
const mostTries = 20_000;

/** Undefined if the request is no multiple of a group, or if no nodes can give the same. */
export function distribution(
  topology: CpuTopology,
  free: CpuSet,
  count: number,
  { groupSize, alignBySocket }: DistributionOptions,
): CpuDistribution | undefined {
  if (count === 0 || groupSize < 1 || count % groupSize !== 0) return undefined;
  const cpus = new FreeCpus(topology, free, count);
  const order = cpus.numaNodes();
  const left = new Map(order.map((node) => [node, cpus.count(topology.numaNodes, node)]));
  const groups = Math.ceil(count / groupSize);
  const groupsPerNode = Math.ceil(Math.ceil(topology.all.size / groupSize) / topology.numaNodes.size);
  const budget = { tries: mostTries };
  for (let size = Math.ceil(groups / groupsPerNode); size <= Math.min(groups, order.length); size++) {
    let best: NodeCombination | undefined;
    for (const nodes of combinations(order, size)) {
      if (budget.tries-- <= 0) break;
      const share = shareOf(nodes, left, count, groupSize, alignBySocket);
      if (share === undefined) continue;
      const isInOneSocket = alignBySocket && socketsOf(topology, nodes).size === 1;
      const candidate = withRemainder(nodes, left, { count, share, groupSize, isInOneSocket, budget });
      if (candidate === undefined) continue;
      if (best === undefined || isBetter(candidate, best, alignBySocket)) best = candidate;
      if (best.score === 0 && (!alignBySocket || best.isInOneSocket)) break;
    }
    if (best !== undefined) return best;
  }
  return undefined;
}

/** What each of the nodes can give; undefined if together they have too little. */
function shareOf(
  nodes: readonly number[],
  left: ReadonlyMap<number, number>,
  count: number,
  groupSize: number,
  alignBySocket: boolean,
): number | undefined {
  const whole = nodes.map((node) => Math.floor((left.get(node) ?? 0) / groupSize) * groupSize);
  if (whole.reduce((sum, size) => sum + size, 0) < count) return undefined;
  const even = Math.floor(count / nodes.length / groupSize) * groupSize;
  const share = alignBySocket ? Math.min(even, ...whole) : even;
  return whole.some((size) => size < share) ? undefined : share;
}

/** Hands out what the shares leave open to those nodes that leave the machine most even. */
function withRemainder(
  nodes: readonly number[],
  left: ReadonlyMap<number, number>,
  request: {
    readonly count: number;
    readonly share: number;
    readonly groupSize: number;
    readonly isInOneSocket: boolean;
    readonly budget: { tries: number };
  },
): NodeCombination | undefined {
  const { count, share, groupSize, isInOneSocket, budget } = request;
  const after = new Map(left);
  for (const node of nodes) after.set(node, (after.get(node) ?? 0) - share);
  const open = count - share * nodes.length;
  if (open === 0) return { nodes, share, remainder: [], score: deviation(after.values()), isInOneSocket };
  const able = nodes.filter((node) => (after.get(node) ?? 0) >= groupSize);
  let best: NodeCombination | undefined;
  for (let size = able.length; size > 0; size--) {
    for (const subset of combinations(able, size)) {
      if (budget.tries-- <= 0) return best;
      const given = roundRobin(subset, after, open, groupSize);
      if (given === undefined) continue;
      const score = deviation(given.after.values());
      if (best === undefined || score < best.score)
        best = { nodes, share, remainder: given.order, score, isInOneSocket };
    }
  }
  return best;
}

/** One group of each in turn; undefined if they have too few whole groups. */
function roundRobin(
  nodes: readonly number[],
  before: ReadonlyMap<number, number>,
  count: number,
  groupSize: number,
): { readonly order: readonly number[]; readonly after: ReadonlyMap<number, number> } | undefined {
  const after = new Map(before);
  const order: number[] = [];
  for (let open = count; open > 0; ) {
    const openBefore = open;
    for (const node of nodes) {
      const size = after.get(node) ?? 0;
      if (open === 0 || size < groupSize) continue;
      after.set(node, size - groupSize);
      order.push(node);
      open -= groupSize;
    }
    if (open === openBefore) return undefined;
  }
  return { order, after };
}

function isBetter(candidate: NodeCombination, best: NodeCombination, alignBySocket: boolean): boolean {
  if (alignBySocket && candidate.isInOneSocket !== best.isInOneSocket) return candidate.isInOneSocket;
  return candidate.score < best.score;
}

function socketsOf(topology: CpuTopology, nodes: readonly number[]): ReadonlySet<number> {
  const sockets = new Set<number>();
  for (const node of nodes) {
    for (const cpu of topology.numaNodes.get(node) ?? []) sockets.add(topology.placeOf.get(cpu)?.socket ?? 0);
  }
  return sockets;
}

function deviation(values: Iterable<number>): number {
  const all = [...values];
  const mean = rounded(all.reduce((sum, value) => sum + value, 0) / all.length);
  const squares = all.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return rounded(Math.sqrt(squares / all.length));
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}

/** In lexicographic order of positions. */
function* combinations(
  items: readonly number[],
  size: number,
): Generator<readonly number[], void, undefined> {
  const at = Array.from({ length: size }, (_, index) => index);
  if (size > items.length) return;
  for (;;) {
    yield at.map((index) => items[index] ?? 0);
    let moved = size - 1;
    while (moved >= 0 && at[moved] === items.length - size + moved) moved--;
    if (moved < 0) return;
    const next = (at[moved] ?? 0) + 1;
    for (let index = moved; index < size; index++) at[index] = next + index - moved;
  }
}
