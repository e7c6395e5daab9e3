/** Reads which memory of each NUMA node pods do not get. */
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  type Quantity,
  quantityValue,
  zeroQuantity,
} from '../../kube/index.js';
import type { MachineTopology } from '../machine-topology/machine-topology.js';
import type { ReservedMemory } from './machine-memory.js';
import { isMemoryType } from './requested-memory.js';

export interface MemoryReservationSettings {
  readonly reservedMemory: readonly {
    readonly numaNode: number;
    readonly limits: Readonly<Record<string, string>>;
  }[];
  /** What the node keeps from pods in all: the system's and the kubelet's share, and the hard eviction threshold. */
  readonly nodeReservation: Readonly<Record<string, string>>;
  readonly machine: Pick<MachineTopology, 'numaNodes'>;
}

const fields = {
  memoryManagerPolicy: 'memoryManagerPolicy (--memory-manager-policy)',
  reservedMemory: 'reservedMemory (--reserved-memory)',
};

/** A setting that no start can be made with; the message begins with the field. */
export class MemoryConfigError extends Error {
  override readonly name = 'MemoryConfigError';

  constructor(field: keyof typeof fields, text: string) {
    super(`${fields[field]}: ${text}`);
  }
}

/** Throws a `MemoryConfigError` where the nodes do not reserve what the machine as a whole reserves. */
export function readReservedMemory(settings: MemoryReservationSettings): ReservedMemory {
  const { reservedMemory, nodeReservation, machine } = settings;
  const reserved = new Map<number, Map<string, number>>();
  const totals = new Map<string, Quantity>();
  for (const { numaNode, limits } of reservedMemory) {
    if (!machine.numaNodes.some(({ id }) => id === numaNode)) {
      throw new MemoryConfigError(
        'reservedMemory',
        `the reserved memory configuration references a NUMA node ${numaNode} that does not exist on this machine`,
      );
    }
    const node = reserved.get(numaNode) ?? new Map<string, number>();
    reserved.set(numaNode, node);
    for (const [type, text] of Object.entries(limits)) {
      const amount = parseQuantity(text);
      totals.set(type, addQuantities(totals.get(type) ?? zeroQuantity, amount));
      node.set(type, (node.get(type) ?? 0) + Number(quantityValue(amount)));
    }
  }
  const types = new Set([...totals.keys(), ...Object.keys(nodeReservation).filter(isMemoryType)]);
  for (const type of [...types].sort()) {
    const total = totals.get(type) ?? zeroQuantity;
    const wanted = parseQuantity(nodeReservation[type] ?? '0');
    if (compareQuantities(total, wanted) !== 0) {
      throw new MemoryConfigError(
        'reservedMemory',
        `the total amount "${formatQuantity(total)}" of type "${type}" is not equal to the value "${formatQuantity(wanted)}" determined by Node Allocatable feature`,
      );
    }
  }
  if ((totals.get('memory') ?? zeroQuantity).nanos <= 0n) {
    throw new MemoryConfigError(
      'reservedMemory',
      '[memorymanager] you should specify the system reserved memory',
    );
  }
  return reserved;
}
