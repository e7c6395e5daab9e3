/**
 * Finds the best set of NUMA nodes for hints of several resources. The answer is the best of all combinations of one hint
 * per resource, but the combinations are never listed: their number is the product of the lengths of the lists.
 */
import type { NumaMask, ResourceHints, TopologyHint } from './hint-provider.js';
import { allNodes, maskSize } from './numa-mask.js';

/** Negative if the first mask is the better one, zero only for equal masks. */
export type CompareMasks = (left: NumaMask, right: NumaMask) => number;

/** Fewer nodes are better, then lower ones. */
export const narrowerFirst: CompareMasks = (left, right) => maskSize(left) - maskSize(right) || left - right;

/** Of masks with as many nodes, nodes that are closer to each other are better. `distances` has a row for each node. */
export function closerFirst(distances: readonly (readonly number[])[]): CompareMasks {
  const means = new Map<NumaMask, number>();
  const meanOf = (mask: NumaMask): number => {
    const known = means.get(mask);
    if (known !== undefined) return known;
    const mean = meanDistance(mask, distances);
    means.set(mask, mean);
    return mean;
  };
  return (left, right) => maskSize(left) - maskSize(right) || meanOf(left) - meanOf(right) || left - right;
}

/** Over all ordered pairs, each node with itself too. */
function meanDistance(mask: NumaMask, distances: readonly (readonly number[])[]): number {
  let sum = 0;
  let pairs = 0;
  for (const [from, row] of distances.entries()) {
    if ((mask & (1 << from)) === 0) continue;
    for (const [to, distance] of row.entries()) {
      if ((mask & (1 << to)) === 0) continue;
      sum += distance;
      pairs++;
    }
  }
  return pairs === 0 ? 0 : sum / pairs;
}

const anyPreferred: TopologyHint = { mask: undefined, preferred: true };
const anyButNone: TopologyHint = { mask: undefined, preferred: false };

/** One list for each resource. A provider or resource without preference takes any nodes; one that cannot be served takes none gladly. */
export function hintLists(
  answers: readonly (ResourceHints | undefined)[],
): readonly (readonly TopologyHint[])[] {
  return answers.flatMap((answer) => {
    if (answer === undefined || answer.size === 0) return [[anyPreferred]];
    return [...answer.values()].map((hints) => {
      if (hints === undefined) return [anyPreferred];
      return hints.length === 0 ? [anyButNone] : hints;
    });
  });
}

/** The hints that keep everything on one node. */
export function singleNodeHints(
  lists: readonly (readonly TopologyHint[])[],
): readonly (readonly TopologyHint[])[] {
  return lists.map((hints) =>
    hints.filter(({ mask, preferred }) => preferred && (mask === undefined || maskSize(mask) === 1)),
  );
}

export interface MergeOptions {
  readonly nodeCount: number;
  readonly compare: CompareMasks;
}

/** All nodes, and not preferred, if no combination leaves a node. */
export function mergeHints(
  lists: readonly (readonly TopologyHint[])[],
  { nodeCount, compare }: MergeOptions,
): TopologyHint {
  const all = allNodes(nodeCount);
  const agreed = bestOf(agreedMasks(lists, all), compare);
  if (agreed !== undefined) return { mask: agreed, preferred: true };
  const wide = widestNeed(lists);
  const byNeed: CompareMasks = (left, right) =>
    needRank(maskSize(left), wide) - needRank(maskSize(right), wide) || compare(left, right);
  return { mask: bestOf(reachableMasks(lists, nodeCount), byNeed) ?? all, preferred: false };
}

/** The masks of combinations in which all hints are preferred and all that name nodes name the same. */
function agreedMasks(lists: readonly (readonly TopologyHint[])[], all: NumaMask): Set<NumaMask> {
  const preferred = lists.map((hints) => hints.filter((hint) => hint.preferred).map(({ mask }) => mask));
  const found = new Set<NumaMask>();
  if (preferred.some((masks) => masks.length === 0)) return found;
  const sets = preferred.map((masks) => new Set(masks));
  if (sets.every((masks) => masks.has(undefined)) && all !== 0) found.add(all);
  for (const mask of new Set(preferred.flat())) {
    if (mask === undefined || (mask & all) === 0) continue;
    if (sets.every((masks) => masks.has(mask) || masks.has(undefined))) found.add(mask & all);
  }
  return found;
}

/** The most nodes that a resource needs at least, over all resources that name nodes. */
function widestNeed(lists: readonly (readonly TopologyHint[])[]): number {
  let widest = 0;
  for (const hints of lists) {
    let narrowest = Number.POSITIVE_INFINITY;
    for (const { mask } of hints) if (mask !== undefined) narrowest = Math.min(narrowest, maskSize(mask));
    if (narrowest !== Number.POSITIVE_INFINITY) widest = Math.max(widest, narrowest);
  }
  return widest;
}

/** As many nodes as are needed come first, then fewer from large to small, then more from small to large. */
function needRank(size: number, wanted: number): number {
  return size <= wanted ? wanted - size : size;
}

/** What is left of all nodes by every combination that leaves something. */
function reachableMasks(lists: readonly (readonly TopologyHint[])[], nodeCount: number): Set<NumaMask> {
  const all = allNodes(nodeCount);
  let reached = new Set<NumaMask>([all]);
  for (const hints of lists) {
    const masks = new Set(hints.map(({ mask }) => (mask === undefined ? all : mask & all)));
    reached = intersections(reached, masks, nodeCount);
  }
  return reached;
}

/** The intersections of each mask of one set with each of the other, without the empty one. */
function intersections(
  left: ReadonlySet<NumaMask>,
  right: ReadonlySet<NumaMask>,
  nodeCount: number,
): Set<NumaMask> {
  const isFewPairs = left.size * right.size <= nodeCount * 2 ** nodeCount;
  const found = isFewPairs ? pairwise(left, right) : bySupersets(left, right, nodeCount);
  found.delete(0);
  return found;
}

function pairwise(left: ReadonlySet<NumaMask>, right: ReadonlySet<NumaMask>): Set<NumaMask> {
  const found = new Set<NumaMask>();
  for (const one of left) for (const other of right) found.add(one & other);
  return found;
}

/**
 * Counts for each mask the pairs whose intersection contains it, which is a product, and takes from that the pairs whose
 * intersection is larger. This needs `nodeCount · 2^nodeCount` steps however many pairs there are.
 */
function bySupersets(
  left: ReadonlySet<NumaMask>,
  right: ReadonlySet<NumaMask>,
  nodeCount: number,
): Set<NumaMask> {
  const pairs = supersetCounts(left, nodeCount);
  const others = supersetCounts(right, nodeCount);
  for (let mask = 0; mask < pairs.length; mask++) pairs[mask] = (pairs[mask] ?? 0) * (others[mask] ?? 0);
  for (let bit = 1; bit < pairs.length; bit *= 2) {
    for (let mask = 0; mask < pairs.length; mask++) {
      if ((mask & bit) === 0) pairs[mask] = (pairs[mask] ?? 0) - (pairs[mask | bit] ?? 0);
    }
  }
  const found = new Set<NumaMask>();
  for (const [mask, count] of pairs.entries()) if (count > 0) found.add(mask);
  return found;
}

/** For each mask, how many masks of the set contain it. */
function supersetCounts(masks: ReadonlySet<NumaMask>, nodeCount: number): Float64Array {
  const counts = new Float64Array(2 ** nodeCount);
  for (const mask of masks) counts[mask] = 1;
  for (let bit = 1; bit < counts.length; bit *= 2) {
    for (let mask = 0; mask < counts.length; mask++) {
      if ((mask & bit) === 0) counts[mask] = (counts[mask] ?? 0) + (counts[mask | bit] ?? 0);
    }
  }
  return counts;
}

function bestOf(masks: Iterable<NumaMask>, compare: CompareMasks): NumaMask | undefined {
  let best: NumaMask | undefined;
  for (const mask of masks) if (best === undefined || compare(mask, best) < 0) best = mask;
  return best;
}
