/**
 * The memory manager's file, as the reference kubelet writes it, so that either reads the other's. The outer part is for
 * older ones; what counts is the text in `data`.
 */
import { fnv32a } from '../../kube/index.js';
import type { MachineMemory, MemoryAssignments, MemoryBlock, NodeMemory } from './machine-memory.js';

export interface MemoryCheckpoint extends MemoryAssignments {
  readonly policyName: string;
  readonly machineState: MachineMemory;
}

export function formatMemoryCheckpoint(checkpoint: MemoryCheckpoint): string {
  const { policyName, machineState, entries, podEntries } = checkpoint;
  const flat = {
    policyName,
    machineState: sortedObject(machineState, nodeJson),
    ...(entries.size === 0
      ? {}
      : { entries: sortedObject(entries, (containers) => sortedObject(containers, blocksJson)) }),
  };
  const data = JSON.stringify({
    ...flat,
    ...(podEntries.size === 0
      ? {}
      : { podEntries: sortedObject(podEntries, (blocks) => ({ memoryBlocks: blocksJson(blocks) })) }),
  });
  return JSON.stringify({
    ...flat,
    checksum: checksumOf(dumpOf(checkpoint)),
    data,
    dataChecksum: checksumOf(`(string)${data}`),
  });
}

/** Null-prototype, so that no name is special; JSON sorts what looks like a number by itself. */
function sortedObject<K extends string | number, V>(
  map: ReadonlyMap<K, V>,
  json: (value: V) => unknown,
): Record<string, unknown> {
  const object: Record<string, unknown> = Object.create(null);
  for (const [key, value] of sortedByText(map)) object[String(key)] = json(value);
  return object;
}

function sortedByText<K extends string | number, V>(map: ReadonlyMap<K, V>): [K, V][] {
  return [...map].sort(([a], [b]) => (String(a) < String(b) ? -1 : 1));
}

function nodeJson({ numberOfAssignments, memoryMap, cells }: NodeMemory): unknown {
  return {
    numberOfAssignments,
    memoryMap: sortedObject(memoryMap, ({ total, systemReserved, allocatable, reserved, free }) => ({
      total,
      systemReserved,
      allocatable,
      reserved,
      free,
    })),
    cells,
  };
}

function blocksJson(blocks: readonly MemoryBlock[]): unknown {
  return blocks.map(({ numaAffinity, type, size }) => ({ numaAffinity, type, size }));
}

export function checksumOf(text: string): number {
  return fnv32a(new TextEncoder().encode(text));
}

/** The text that checksums are made of where the file has no `data`. `withPods` is the second format. */
export function dumpOf(
  { policyName, machineState, entries, podEntries }: MemoryCheckpoint,
  { withPods = false } = {},
): string {
  const nodes = [...machineState].sort(([a], [b]) => a - b).map(([id, node]) => `${id}:<*>${nodeDump(node)}`);
  const assigned = sortedByText(entries).map(([uid, containers]) => {
    const blocks = sortedByText(containers).map(([name, list]) => `${name}:${blocksDump(list)}`);
    return `${uid}:map[${blocks.join(' ')}]`;
  });
  const pods = sortedByText(podEntries).map(
    ([uid, blocks]) => `${uid}:{MemoryBlocks:([]state.Block)${blocksDump(blocks)}}`,
  );
  return [
    `(*state.MemoryManagerCheckpoint){PolicyName:(string)${policyName}`,
    `MachineState:(state.NUMANodeMap)map[${nodes.join(' ')}]`,
    `Entries:(state.ContainerMemoryAssignments)map[${assigned.join(' ')}]`,
    ...(withPods ? [`PodEntries:(state.PodMemoryAssignments)map[${pods.join(' ')}]`] : []),
    'Checksum:(checksum.Checksum)0}',
  ].join(' ');
}

function nodeDump({ numberOfAssignments, memoryMap, cells }: NodeMemory): string {
  const tables = sortedByText(memoryMap).map(
    ([type, { total, systemReserved, allocatable, reserved, free }]) =>
      `${type}:<*>{TotalMemSize:(uint64)${total} SystemReserved:(uint64)${systemReserved} Allocatable:(uint64)${allocatable} Reserved:(uint64)${reserved} Free:(uint64)${free}}`,
  );
  const map = `(map[v1.ResourceName]*state.MemoryTable)map[${tables.join(' ')}]`;
  return `{NumberOfAssignments:(int)${numberOfAssignments} MemoryMap:${map} Cells:([]int)[${cells.join(' ')}]}`;
}

function blocksDump(blocks: readonly MemoryBlock[]): string {
  const texts = blocks.map(
    ({ numaAffinity, type, size }) =>
      `{NUMAAffinity:([]int)[${numaAffinity.join(' ')}] Type:(v1.ResourceName)${type} Size:(uint64)${size}}`,
  );
  return `[${texts.join(' ')}]`;
}
