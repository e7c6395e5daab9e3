/** Reads the memory manager's file in its three formats, and says what is wrong with it as the reference kubelet does. */
import { errorText } from '../../async/index.js';
import { checksumOf, dumpOf, type MemoryCheckpoint } from './checkpoint.js';
import type { MemoryBlock, MemoryTable, NodeMemory } from './machine-memory.js';

export type ReadMemoryCheckpoint =
  | { readonly kind: 'read'; readonly checkpoint: MemoryCheckpoint }
  /** `checkpoint` is what could be read all the same, unchecked. */
  | { readonly kind: 'unusable'; readonly problem: string; readonly checkpoint?: MemoryCheckpoint };

const corrupted = 'checkpoint is corrupted';
const inData = 'could not load v3 checkpoint: ';

export function readMemoryCheckpoint(text: string): ReadMemoryCheckpoint {
  let outer: Json;
  try {
    outer = objectIn(JSON.parse(text), 'it');
  } catch (error) {
    return { kind: 'unusable', problem: errorText(error) };
  }
  const { data = '', dataChecksum = 0 } = outer;
  return data === '' && dataChecksum === 0 ? readFlat(outer) : readData(data, dataChecksum);
}

function readData(data: unknown, checksum: unknown): ReadMemoryCheckpoint {
  const isWhole = typeof data === 'string' && checksumOf(`(string)${data}`) === checksum;
  try {
    const checkpoint = decode(objectIn(JSON.parse(String(data)), 'data'));
    if (isWhole) return { kind: 'read', checkpoint };
    return { kind: 'unusable', problem: inData + corrupted, checkpoint };
  } catch (error) {
    if (!isWhole) return { kind: 'unusable', problem: inData + corrupted };
    const problem = `failed to deserialize memory manager checkpoint data: ${errorText(error)}`;
    return { kind: 'unusable', problem: inData + problem };
  }
}

/** The second format has blocks of pods, the first has none, and in the first a checksum of 0 stands for no checksum. */
function readFlat(outer: Json): ReadMemoryCheckpoint {
  let checkpoint: MemoryCheckpoint;
  try {
    checkpoint = decode(outer);
  } catch (error) {
    return { kind: 'unusable', problem: errorText(error) };
  }
  const { checksum = 0 } = outer;
  if (checksum === checksumOf(dumpOf(checkpoint, { withPods: true }))) return { kind: 'read', checkpoint };
  const first = { ...checkpoint, podEntries: new Map() };
  if (checksum === 0 || checksum === checksumOf(dumpOf(first))) return { kind: 'read', checkpoint: first };
  return { kind: 'unusable', problem: corrupted, checkpoint };
}

type Json = Readonly<Record<string, unknown>>;

/** Throws where something is not what it must be; what is not known is left out. */
function decode(outer: Json): MemoryCheckpoint {
  const { policyName = '' } = outer;
  if (typeof policyName !== 'string') throw new Error('policyName is not text');
  const nodes = membersIn(outer.machineState, 'machineState').map(([id, node]): [number, NodeMemory] => [
    wholeNumber(Number(id), 'the id of a NUMA node'),
    nodeIn(node),
  ]);
  return {
    policyName,
    machineState: new Map(nodes.sort(([a], [b]) => a - b)),
    entries: mapIn(outer.entries, 'entries', (containers) =>
      mapIn(containers, 'the entry of a pod', blocksIn),
    ),
    podEntries: mapIn(outer.podEntries, 'podEntries', (entry) =>
      blocksIn(objectIn(entry, 'the entry of a pod').memoryBlocks),
    ),
  };
}

function nodeIn(value: unknown): NodeMemory {
  const node = objectIn(value, 'a NUMA node');
  return {
    numberOfAssignments: wholeNumber(node.numberOfAssignments ?? 0, 'numberOfAssignments'),
    memoryMap: mapIn(node.memoryMap, 'memoryMap', tableIn),
    cells: listIn(node.cells, 'cells').map((id) => wholeNumber(id, 'a cell')),
  };
}

function tableIn(value: unknown): MemoryTable {
  const table = objectIn(value, 'a table of memory');
  const figure = (name: keyof MemoryTable): number => wholeNumber(table[name] ?? 0, name);
  return {
    total: figure('total'),
    systemReserved: figure('systemReserved'),
    allocatable: figure('allocatable'),
    reserved: figure('reserved'),
    free: figure('free'),
  };
}

function blocksIn(value: unknown): readonly MemoryBlock[] {
  return listIn(value, 'a list of blocks').map((item) => {
    const { numaAffinity, type, size = 0 } = objectIn(item, 'a block');
    if (typeof type !== 'string') throw new Error('the type of a block is not text');
    const ids = listIn(numaAffinity, 'numaAffinity').map((id) => wholeNumber(id, 'a NUMA node'));
    if (ids.length === 0) throw new Error('a block lies on no NUMA node');
    return { numaAffinity: ids, type, size: wholeNumber(size, 'size') };
  });
}

function mapIn<T>(value: unknown, what: string, read: (value: unknown) => T): Map<string, T> {
  return new Map(membersIn(value, what).map(([key, member]) => [key, read(member)]));
}

function membersIn(value: unknown, what: string): [string, unknown][] {
  return value === undefined || value === null ? [] : Object.entries(objectIn(value, what));
}

function objectIn(value: unknown, what: string): Json {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    // JSON has no other objects than those whose members can be anything.
    return value as Json;
  }
  throw new Error(`${what} is not an object`);
}

function listIn(value: unknown, what: string): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value;
  throw new Error(`${what} is not a list`);
}

function wholeNumber(value: unknown, what: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw new Error(`${what} is not a whole number`);
}
