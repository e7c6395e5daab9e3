/** Sets of NUMA nodes as bits of a number. */
import type { NumaMask } from './hint-provider.js';

/** Providers try every set of nodes, so that each further node doubles their work. */
export const mostNumaNodes = 16;

export function allNodes(nodeCount: number): NumaMask {
  return 2 ** nodeCount - 1;
}

export function maskSize(mask: NumaMask): number {
  let size = 0;
  for (let rest = mask; rest !== 0; rest &= rest - 1) size++;
  return size;
}

/** The positions in a mask, in ascending order. */
export function positionsIn(mask: NumaMask): number[] {
  const positions: number[] = [];
  for (let position = 0; 2 ** position <= mask; position++) {
    if ((mask & (1 << position)) !== 0) positions.push(position);
  }
  return positions;
}

export function maskOf(positions: Iterable<number>): NumaMask {
  let mask = 0;
  for (const position of positions) mask |= 1 << position;
  return mask;
}

/** All sets of nodes but the empty one: small ones first, sets of one size in the order of their positions. */
export function* masksBySize(nodeCount: number): Generator<NumaMask> {
  for (let size = 1; size <= nodeCount; size++) yield* masksOfSize(size, 0, nodeCount);
}

function* masksOfSize(size: number, first: number, nodeCount: number): Generator<NumaMask> {
  if (size === 0) {
    yield 0;
    return;
  }
  for (let position = first; position <= nodeCount - size; position++) {
    for (const rest of masksOfSize(size - 1, position + 1, nodeCount)) yield (1 << position) | rest;
  }
}
