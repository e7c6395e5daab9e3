/** Finds the sets of NUMA nodes that could serve a request for memory. */
import {
  maskOf,
  maskSize,
  masksBySize,
  type NumaMask,
  positionsIn,
  type ResourceHints,
  type TopologyHint,
} from '../topology-manager/index.js';
import { isSameSet, type MachineMemory, type MemoryBlock, sumOver } from './machine-memory.js';
import type { MemoryRequest } from './requested-memory.js';

/** A hint that names nodes. */
export interface NodeHint extends TopologyHint {
  readonly mask: NumaMask;
}

/** Bytes of a type that the pod holds on exactly these nodes and may use again. */
export type ReusableMemory = (ids: readonly number[], type: string) => number;

export interface MemoryDemand {
  readonly request: MemoryRequest;
  readonly reusable: ReusableMemory;
}

/** The ids of the nodes in a mask. */
export function idsIn(machine: MachineMemory, mask: NumaMask): number[] {
  return idsAt([...machine.keys()], mask);
}

function idsAt(ids: readonly number[], mask: NumaMask): number[] {
  return positionsIn(mask).flatMap((position) => {
    const id = ids[position];
    return id === undefined ? [] : [id];
  });
}

export function maskOfIds(machine: MachineMemory, nodes: readonly number[]): NumaMask {
  const ids = [...machine.keys()];
  return maskOf(nodes.map((id) => ids.indexOf(id)).filter((position) => position >= 0));
}

interface NodeSet {
  readonly mask: NumaMask;
  readonly ids: readonly number[];
}

/** The sets of nodes of the last machine that was asked about; a node has one. */
let lastSets: { readonly nodes: string; readonly sets: readonly NodeSet[] } | undefined;

/** All sets of these nodes, the smallest first. Each admission asks for them, and they are up to 65535. */
function nodeSets(ids: readonly number[]): readonly NodeSet[] {
  const nodes = ids.join();
  if (lastSets?.nodes !== nodes) {
    const sets = [...masksBySize(ids.length)].map((mask) => ({ mask, ids: idsAt(ids, mask) }));
    lastSets = { nodes, sets };
  }
  return lastSets.sets;
}

/** The hints for every type of the request; each type has the same ones. Empty if no nodes can serve it. */
export function memoryHints(
  machine: MachineMemory,
  { request, reusable }: MemoryDemand,
): readonly NodeHint[] {
  const possible: NumaMask[] = [];
  let fewest = machine.size;
  for (const { mask, ids } of nodeSets([...machine.keys()])) {
    if (!holds(request, (type) => sumOver(machine, ids, type, 'allocatable'))) continue;
    fewest = Math.min(fewest, ids.length);
    if (!mayBeUsedTogether(machine, ids)) continue;
    if (holds(request, (type) => sumOver(machine, ids, type, 'free') + reusable(ids, type)))
      possible.push(mask);
  }
  return possible.map((mask) => ({ mask, preferred: maskSize(mask) === fewest }));
}

function holds(request: MemoryRequest, bytesOf: (type: string) => number): boolean {
  for (const [type, bytes] of request) if (bytesOf(type) < bytes) return false;
  return true;
}

/** A node belongs to one group of nodes at a time, which may be the node alone. */
function mayBeUsedTogether(machine: MachineMemory, ids: readonly number[]): boolean {
  const [only] = ids;
  if (ids.length === 1 && only !== undefined) return (machine.get(only)?.cells.length ?? 0) <= 1;
  return !breaksGroups(machine, ids);
}

/** Whether several nodes are asked for of which one is in use with others. */
export function breaksGroups(machine: MachineMemory, ids: readonly number[]): boolean {
  if (ids.length <= 1) return false;
  return ids.some((id) => {
    const node = machine.get(id);
    return node !== undefined && node.numberOfAssignments > 0 && !isSameSet(node.cells, ids);
  });
}

export function hasFree(machine: MachineMemory, ids: readonly number[], request: MemoryRequest): boolean {
  return holds(request, (type) => sumOver(machine, ids, type, 'free'));
}

/** A preferred hint, then one with fewer nodes, then one with lower nodes. */
export function bestHint(hints: readonly NodeHint[]): NodeHint | undefined {
  const [best] = [...hints].sort(
    (a, b) =>
      Number(b.preferred) - Number(a.preferred) || maskSize(a.mask) - maskSize(b.mask) || a.mask - b.mask,
  );
  return best;
}

/** `undefined`, no preference, if there are none: the refusal is left to the allocation, which tells more. */
export function asResourceHints(
  request: MemoryRequest,
  hints: readonly NodeHint[],
): ResourceHints | undefined {
  if (hints.length === 0) return undefined;
  return new Map([...request.keys()].map((type) => [type, hints]));
}

/** The nodes that the blocks lie on, if they are for this request; no preference otherwise. */
export function hintsOfBlocks(
  machine: MachineMemory,
  blocks: readonly MemoryBlock[],
  request: MemoryRequest,
): ResourceHints | undefined {
  if (blocks.length !== request.size) return undefined;
  const hints = new Map<string, readonly TopologyHint[]>();
  for (const { type, size, numaAffinity } of blocks) {
    if (request.get(type) !== size) return undefined;
    hints.set(type, [{ mask: maskOfIds(machine, numaAffinity), preferred: true }]);
  }
  return hints;
}
