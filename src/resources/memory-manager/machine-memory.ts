/** The memory of each NUMA node, and what is left of it by what containers were assigned. */
import { formatQuantity, quantityOf } from '../../kube/index.js';
import type { MachineTopology } from '../machine-topology/machine-topology.js';

/** In bytes. */
export interface MemoryTable {
  readonly total: number;
  readonly systemReserved: number;
  readonly allocatable: number;
  readonly reserved: number;
  readonly free: number;
}

export interface NodeMemory {
  /** How many blocks lie on the node. */
  readonly numberOfAssignments: number;
  /** By type: `memory` or `hugepages-<size>`. */
  readonly memoryMap: ReadonlyMap<string, MemoryTable>;
  /** The ids of the nodes that are used together with this one, itself among them. */
  readonly cells: readonly number[];
}

/** By the id of the NUMA node, in ascending order. */
export type MachineMemory = ReadonlyMap<number, NodeMemory>;

/** Memory of one type on some nodes, which together have `size` bytes for whom it was assigned to. */
export interface MemoryBlock {
  /** The ids of the nodes, in ascending order. */
  readonly numaAffinity: readonly number[];
  readonly type: string;
  readonly size: number;
}

/** Blocks by pod UID and container name. */
export type ContainerBlocks = ReadonlyMap<string, ReadonlyMap<string, readonly MemoryBlock[]>>;

export interface MemoryAssignments {
  readonly entries: ContainerBlocks;
  /** Blocks of pods that were given memory as a whole, by pod UID; their containers share these. */
  readonly podEntries: ReadonlyMap<string, readonly MemoryBlock[]>;
}

export const noAssignments: MemoryAssignments = { entries: new Map(), podEntries: new Map() };

/** Bytes that pods do not get, by the node's id and the type of memory. */
export type ReservedMemory = ReadonlyMap<number, ReadonlyMap<string, number>>;

export function hugePagesType(sizeBytes: number): string {
  return `hugepages-${formatQuantity(quantityOf(sizeBytes, 'BinarySI'))}`;
}

/** The memory of a machine that nobody uses. */
export function unusedMemory(
  { numaNodes }: Pick<MachineTopology, 'numaNodes'>,
  reserved: ReservedMemory,
): MachineMemory {
  const machine = new Map<number, NodeMemory>();
  for (const { id, memoryBytes, hugePages } of [...numaNodes].sort((a, b) => a.id - b.id)) {
    const share = (type: string): number => reserved.get(id)?.get(type) ?? 0;
    const memoryMap = new Map<string, MemoryTable>();
    let hugePagesBytes = 0;
    for (const { sizeBytes, pages } of hugePages) {
      const type = hugePagesType(sizeBytes);
      memoryMap.set(type, unusedTable(sizeBytes * pages, share(type), 0));
      hugePagesBytes += sizeBytes * pages;
    }
    memoryMap.set('memory', unusedTable(memoryBytes, share('memory'), hugePagesBytes));
    machine.set(id, { numberOfAssignments: 0, memoryMap, cells: [id] });
  }
  return machine;
}

function unusedTable(total: number, systemReserved: number, otherBytes: number): MemoryTable {
  const allocatable = Math.max(0, total - systemReserved - otherBytes);
  return { total, systemReserved, allocatable, reserved: 0, free: allocatable };
}

export type UsedMemory =
  | { readonly kind: 'fits'; readonly machine: MachineMemory }
  /** `problem` is what the reference kubelet says to it. */
  | { readonly kind: 'unfit'; readonly problem: string };

export const differentMachine = '[memorymanager] the expected machine state is different from the real one';

/**
 * What assignments leave of an unused machine. It follows from them alone, whatever the order in which they came and
 * others went: blocks of one node first, then blocks of several, each from its lowest node up.
 */
export function usedMemory(unused: MachineMemory, assignments: MemoryAssignments): UsedMemory {
  const draft = new Map([...unused].map(([id, node]) => [id, draftOf(node)]));
  const blocks = countedBlocks(assignments);
  for (const { block, podUid, name } of blocks) {
    const problem = blockProblem(draft, block);
    if (problem !== undefined) {
      const whose = name === undefined ? `pod: ${podUid}` : `pod: ${podUid}, container: ${name}`;
      return { kind: 'unfit', problem: `[memorymanager] (${whose}) the memory assignment uses ${problem}` };
    }
  }
  const single = blocks.filter(({ block }) => block.numaAffinity.length === 1);
  const several = blocks.filter(({ block }) => block.numaAffinity.length !== 1);
  for (const { block } of [...several, ...single]) {
    for (const id of block.numaAffinity) {
      const node = draft.get(id);
      if (node === undefined) continue;
      node.numberOfAssignments++;
      // A block of this node alone is counted last, so that the node does not join a group any more.
      node.cells = block.numaAffinity;
    }
  }
  for (const { block } of [...single, ...several]) {
    if (take(draft, block) > 0) return { kind: 'unfit', problem: differentMachine };
  }
  return { kind: 'fits', machine: draft };
}

/**
 * What more blocks leave of a machine, where that depends on no other assignment: none lies on several nodes. Undefined
 * where it does, or where the blocks do not fit.
 */
export function withMoreBlocks(
  machine: MachineMemory,
  blocks: readonly MemoryBlock[],
): MachineMemory | undefined {
  if (blocks.some(({ numaAffinity }) => numaAffinity.length !== 1)) return undefined;
  const after = new Map(machine);
  for (const { cells } of machine.values()) if (cells.length !== 1) return undefined;
  for (const block of blocks) {
    const [id = -1] = block.numaAffinity;
    const node = after.get(id);
    if (node?.memoryMap.has(block.type) !== true) return undefined;
    const draft = draftOf(node);
    draft.numberOfAssignments = node.numberOfAssignments + 1;
    if (take(new Map([[id, draft]]), block) > 0) return undefined;
    after.set(id, draft);
  }
  return after;
}

interface NodeDraft {
  numberOfAssignments: number;
  readonly memoryMap: Map<string, TableDraft>;
  cells: readonly number[];
}

type TableDraft = { -readonly [Figure in keyof MemoryTable]: MemoryTable[Figure] };

function draftOf({ memoryMap, cells }: NodeMemory): NodeDraft {
  const tables = [...memoryMap].map(([type, table]): [string, TableDraft] => [type, { ...table }]);
  return { numberOfAssignments: 0, memoryMap: new Map(tables), cells };
}

interface CountedBlock {
  readonly podUid: string;
  /** Undefined for a block of the whole pod. */
  readonly name: string | undefined;
  readonly block: MemoryBlock;
}

/** A pod that has blocks as a whole is counted by these, not by those of its containers. */
export function countedBlocks({ entries, podEntries }: MemoryAssignments): CountedBlock[] {
  const counted: CountedBlock[] = [];
  for (const [podUid, blocks] of podEntries) {
    for (const block of blocks) counted.push({ podUid, name: undefined, block });
  }
  for (const [podUid, containers] of entries) {
    if (podEntries.has(podUid)) continue;
    for (const [name, blocks] of containers) {
      for (const block of blocks) counted.push({ podUid, name, block });
    }
  }
  return counted;
}

function blockProblem(nodes: ReadonlyMap<number, NodeDraft>, block: MemoryBlock): string | undefined {
  for (const id of block.numaAffinity) {
    const node = nodes.get(id);
    if (node === undefined) return 'the NUMA that does not exist';
    if (!node.memoryMap.has(block.type)) return 'memory resource that does not exist';
  }
  return undefined;
}

/** Returns the bytes for which there was no room. */
function take(nodes: ReadonlyMap<number, NodeDraft>, { numaAffinity, type, size }: MemoryBlock): number {
  let left = size;
  for (const id of numaAffinity) {
    const table = nodes.get(id)?.memoryMap.get(type);
    if (table === undefined) continue;
    const taken = Math.min(left, table.free);
    left -= taken;
    table.reserved += taken;
    table.free -= taken;
  }
  return left;
}

/** Whether both say the same; how the bytes of nodes that are used together lie among these does not matter. */
export function isSameMachine(left: MachineMemory, right: MachineMemory): boolean {
  if (left.size !== right.size) return false;
  for (const [id, node] of left) {
    const other = right.get(id);
    if (other === undefined || !isSameNode(node, other)) return false;
    for (const type of node.memoryMap.keys()) {
      for (const figure of ['free', 'reserved'] as const) {
        const sum = sumOver(left, node.cells, type, figure);
        if (sum !== sumOver(right, node.cells, type, figure)) return false;
      }
    }
  }
  return true;
}

function isSameNode(left: NodeMemory, right: NodeMemory): boolean {
  if (left.numberOfAssignments !== right.numberOfAssignments) return false;
  if (!isSameSet(left.cells, right.cells)) return false;
  if (left.memoryMap.size !== right.memoryMap.size) return false;
  for (const [type, table] of left.memoryMap) {
    const other = right.memoryMap.get(type);
    if (other === undefined) return false;
    for (const figure of ['total', 'systemReserved', 'allocatable'] as const) {
      if (table[figure] !== other[figure]) return false;
    }
  }
  return true;
}

export function isSameSet(left: readonly number[], right: readonly number[]): boolean {
  // Nearly always both are sorted, and asking this is what a pod with many containers costs most.
  if (left.length === right.length && left.every((id, at) => id === right[at])) return true;
  if (left.length <= 1 && right.length <= 1) return false;
  return (
    new Set([...left, ...right]).size === new Set(left).size && new Set(left).size === new Set(right).size
  );
}

/** The bytes of one type on some nodes; a node that has no such memory counts nothing. */
export function sumOver(
  machine: MachineMemory,
  ids: readonly number[],
  type: string,
  figure: 'allocatable' | 'free' | 'reserved',
): number {
  let sum = 0;
  for (const id of ids) sum += machine.get(id)?.memoryMap.get(type)?.[figure] ?? 0;
  return sum;
}
