import { describe, expect, it } from 'vitest';
import type { ResourceHints, TopologyHint } from './hint-provider.js';
import {
  type CompareMasks,
  closerFirst,
  hintLists,
  mergeHints,
  narrowerFirst,
  singleNodeHints,
} from './merge-hints.js';
import { allNodes, maskOf, maskSize, masksBySize, positionsIn } from './numa-mask.js';
import { chance } from './test-topology.js';

const yes = (mask?: number): TopologyHint => ({ mask, preferred: true });
const no = (mask?: number): TopologyHint => ({ mask, preferred: false });

it('lists masks by size, then by their positions', () => {
  expect([...masksBySize(3)]).toEqual([0b001, 0b010, 0b100, 0b011, 0b101, 0b110, 0b111]);
  expect([...masksBySize(4)].filter((mask) => maskSize(mask) === 2)).toEqual([3, 5, 9, 6, 10, 12]);
  expect([...masksBySize(10)]).toHaveLength(1023);
  expect(positionsIn(0b1010)).toEqual([1, 3]);
  expect(maskOf([3, 1])).toBe(0b1010);
});

describe('lists of hints', () => {
  const cases: [string, (ResourceHints | undefined)[], TopologyHint[][]][] = [
    ['no provider', [], []],
    ['a provider without hints takes any', [undefined], [[yes()]]],
    ['an empty map takes any', [new Map()], [[yes()]]],
    ['a resource without preference takes any', [new Map([['cpu', undefined]])], [[yes()]]],
    ['a resource that cannot be served takes none gladly', [new Map([['cpu', []]])], [[no()]]],
    [
      'each resource has its own list',
      [
        new Map([
          ['a', [yes(1)]],
          ['b', [no(3)]],
        ]),
        new Map([['c', [yes(2)]]]),
      ],
      [[yes(1)], [no(3)], [yes(2)]],
    ],
  ];
  it.each(cases)('%s', (_, answers, expected) => expect(hintLists(answers)).toEqual(expected));
});

describe('merging', () => {
  const cases: [string, number, TopologyHint[][], TopologyHint][] = [
    ['the nodes that all prefer', 2, [[yes(1), yes(2), no(3)], [yes(2)]], yes(2)],
    ['all nodes if hints share none', 2, [[yes(1)], [yes(2)]], no(3)],
    ['what is left is not preferred if one does not prefer it', 2, [[yes(1), yes(2)], [no(3)]], no(1)],
    ['no lists', 2, [], yes(3)],
    ['any and any', 2, [[yes()], [yes()]], yes(3)],
    ['any with nodes', 2, [[yes()], [yes(2)]], yes(2)],
    ['any not preferred', 2, [[no()], [yes(2)]], no(2)],
    ['different preferred nodes are not preferred together', 2, [[yes(3)], [yes(1)]], no(1)],
    ['an empty list leaves nothing', 2, [[], [yes(1)]], no(3)],
    ['fewer nodes before lower ones', 3, [[yes(3), yes(4)]], yes(4)],
    ['lower nodes of as many', 3, [[yes(4), yes(2)]], yes(2)],
    ['as many nodes as needed, though fewer are left by another', 4, [[no(3), no(12)], [no(7)]], no(3)],
    ['fewer than needed from large to small', 4, [[no(0b1111)], [no(0b1000), no(0b0110)]], no(0b0110)],
    [
      'more than needed comes last',
      4,
      [
        [no(), no(1)],
        [no(2), no()],
      ],
      no(1),
    ],
  ];
  it.each(cases)('%s', (_, nodeCount, lists, expected) =>
    expect(mergeHints(lists, { nodeCount, compare: narrowerFirst })).toEqual(expected),
  );

  it('prefers nodes that are closer to each other, if told so', () => {
    const distances = [
      [10, 20, 11, 20],
      [20, 10, 20, 11],
      [11, 20, 10, 20],
      [20, 11, 20, 10],
    ];
    const lists = [[yes(0b0011), yes(0b0101)]];
    expect(mergeHints(lists, { nodeCount: 4, compare: narrowerFirst })).toEqual(yes(0b0011));
    expect(mergeHints(lists, { nodeCount: 4, compare: closerFirst(distances) })).toEqual(yes(0b0101));
  });

  it('keeps only preferred hints of one node for a single node', () => {
    expect(singleNodeHints([[yes(1), yes(3), no(2), yes(), no()]])).toEqual([[yes(1), yes()]]);
  });
});

describe('merging equals the best of all combinations', () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8])('on %i nodes', (nodeCount) => {
    const pick = chance(1000 + nodeCount);
    for (let round = 0; round < 400; round++) {
      const lists = Array.from({ length: pick(4) }, () => randomList(pick, nodeCount));
      const distances = Array.from({ length: nodeCount }, () =>
        Array.from({ length: nodeCount }, () => 10 + pick(3)),
      );
      const compare = pick(2) === 0 ? narrowerFirst : closerFirst(distances);
      const given = pick(4) === 0 ? singleNodeHints(lists) : lists;
      const merged = mergeHints(given, { nodeCount, compare });
      expect(merged, JSON.stringify({ nodeCount, given, distances })).toEqual(
        naive(given, nodeCount, compare),
      );
    }
  });

  it('when the masks are counted instead of paired', () => {
    for (let seed = 1; seed <= 20; seed++) {
      const pick = chance(seed);
      const every = [...masksBySize(7)];
      // Not preferred, so that no agreement ends the search early.
      const lists = [0, 1].map(() => every.filter(() => pick(10) > 0).map((mask) => no(mask)));
      expect(mergeHints(lists, { nodeCount: 7, compare: narrowerFirst })).toEqual(
        naive(lists, 7, narrowerFirst),
      );
    }
  });

  it('merges what has 10^14 combinations at once', () => {
    const every = [...masksBySize(16)].map((mask) => no(mask));
    const startMs = performance.now();
    const merged = mergeHints([every, every, every], { nodeCount: 16, compare: narrowerFirst });
    expect(merged).toEqual(no(1));
    expect(performance.now() - startMs).toBeLessThan(5_000);
  });
});

function randomList(pick: (below: number) => number, nodeCount: number): TopologyHint[] {
  const length = pick(8) === 0 ? 0 : 1 + pick(6);
  return Array.from({ length }, () => ({
    mask: pick(8) === 0 ? undefined : 1 + pick(allNodes(nodeCount)),
    preferred: pick(2) === 0,
  }));
}

/** Looks at every combination in turn, and compares as the documentation of the policies words it. */
function naive(
  lists: readonly (readonly TopologyHint[])[],
  nodeCount: number,
  compare: CompareMasks,
): TopologyHint {
  const all = allNodes(nodeCount);
  const needs = lists.flatMap((hints) => {
    const sizes = hints.flatMap(({ mask }) => (mask === undefined ? [] : [maskSize(mask)]));
    return sizes.length === 0 ? [] : [Math.min(...sizes)];
  });
  const need = Math.max(0, ...needs);
  let best: { mask: number; preferred: boolean } | undefined;
  const visit = (index: number, chosen: readonly TopologyHint[]): void => {
    const list = lists[index];
    if (list !== undefined) {
      for (const hint of list) visit(index + 1, [...chosen, hint]);
      return;
    }
    const named = chosen.flatMap(({ mask }) => (mask === undefined ? [] : [mask]));
    const mask = named.reduce((left, right) => left & right, all);
    if (mask === 0) return;
    const candidate = {
      mask,
      preferred: chosen.every(({ preferred }) => preferred) && new Set(named).size <= 1,
    };
    if (best === undefined || isBetter(best, candidate, need, compare)) best = candidate;
  };
  visit(0, []);
  return best ?? { mask: all, preferred: false };
}

function isBetter(
  best: { mask: number; preferred: boolean },
  candidate: { mask: number; preferred: boolean },
  need: number,
  compare: CompareMasks,
): boolean {
  const betterMask = compare(candidate.mask, best.mask) < 0;
  if (best.preferred !== candidate.preferred) return candidate.preferred;
  if (best.preferred) return betterMask;
  const [bestSize, size] = [maskSize(best.mask), maskSize(candidate.mask)];
  if (bestSize > need) return betterMask;
  if (bestSize === need) return size === need && betterMask;
  if (size > need) return false;
  if (size === need) return true;
  return size === bestSize ? betterMask : size > bestSize;
}
