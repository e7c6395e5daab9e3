/** On which NUMA nodes a container could have its devices. */
import { maskOf, maskSize, masksBySize, type TopologyHint } from '../topology-manager/index.js';
import type { PluginDevice } from './contracts.js';

export interface HintDemand {
  readonly count: number;
  /** All devices of the resource, unhealthy and used ones too. */
  readonly table: ReadonlyMap<string, PluginDevice>;
  readonly available: ReadonlySet<string>;
  /** Devices that the container must have among its own. */
  readonly reusable: ReadonlySet<string>;
  /** The ids of the machine's NUMA nodes, ascending: a node's place is its bit in masks. */
  readonly machineNodes: readonly number[];
}

/** Undefined: no device is near a node, so that nothing is preferred. An empty list: nothing can serve the demand. */
export function deviceHints(demand: HintDemand): readonly TopologyHint[] | undefined {
  const { table, available, reusable, count } = demand;
  if (!hasNodes(table)) return undefined;
  if (new Set([...available, ...reusable]).size < count) return [];
  return generateHints(demand);
}

/** For a container or a pod that has devices: only what it has counts. */
export function heldHints(
  held: ReadonlySet<string>,
  demand: Omit<HintDemand, 'available' | 'reusable'>,
): readonly TopologyHint[] | undefined {
  if (!hasNodes(demand.table)) return undefined;
  if (held.size !== demand.count) return [];
  return generateHints({ ...demand, available: held, reusable: new Set() });
}

function hasNodes(table: ReadonlyMap<string, PluginDevice>): boolean {
  return [...table.values()].some(({ numaNodes }) => numaNodes.length > 0);
}

function generateHints({ count, table, available, reusable, machineNodes }: HintDemand): TopologyHint[] {
  const places = new Map(machineNodes.map((id, place) => [id, place]));
  const hosting = new Set([...table.values()].flatMap(({ numaNodes }) => numaNodes));
  const known = machineNodes.filter((id) => hosting.has(id));
  const nodes = (known.length === 0 ? machineNodes : known).map((id) => places.get(id) ?? 0);
  /** The nodes that a device is near, as a mask. */
  const near = (id: string): number =>
    maskOf((table.get(id)?.numaNodes ?? []).flatMap((node) => places.get(node) ?? []));
  const all = [...table.keys()].map(near);
  const free = [...available].filter((id) => !reusable.has(id)).map(near);
  const reused = [...reusable].map(near);
  let smallest = nodes.length;
  const found: { mask: number; size: number }[] = [];
  for (const positions of masksBySize(nodes.length)) {
    const mask = spread(positions, nodes);
    const size = maskSize(mask);
    const touches = (one: number): boolean => (one & mask) !== 0;
    if (all.filter(touches).length >= count && size < smallest) smallest = size;
    if (!reused.every((one) => one === 0 || touches(one))) continue;
    const usable = free.filter(touches).length + reused.filter(touches).length;
    if (usable >= count) found.push({ mask, size });
  }
  return found.map(({ mask, size }) => ({ mask, preferred: size === smallest }));
}

/** A mask over some nodes as one over all nodes of the machine. */
function spread(mask: number, nodes: readonly number[]): number {
  return maskOf(nodes.filter((_, index) => (mask & (1 << index)) !== 0));
}
