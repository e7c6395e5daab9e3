/** Computes a node's capacity and allocatable from the machine, the devices and the reservations. */
import {
  addQuantities,
  formatQuantity,
  parseQuantity,
  type Quantity,
  quantityOf,
  type ResourceList,
  subtractQuantities,
  zeroQuantity,
} from '../../kube/index.js';
import type { MachineInfo } from '../machine/facts.js';
import { nodeReservation, type ReservationSettings } from './reservation.js';
import { hugePagesPrefix, isExtendedResource, isHugePageResource } from './resource-names.js';

/** The resources of device plugins. */
export interface DeviceResources {
  readonly capacity: ResourceList;
  readonly allocatable: ResourceList;
  /** Resources that are no longer offered. */
  readonly removed: readonly string[];
}

export const noDevices: DeviceResources = { capacity: {}, allocatable: {}, removed: [] };

export interface CapacitySettings extends ReservationSettings {
  readonly maxPods: number;
  /** 0 for no limit. */
  readonly podsPerCore: number;
  readonly localStorageCapacityIsolation: boolean;
}

export interface CapacityInput {
  readonly settings: CapacitySettings;
  /** Undefined if it could not be read. */
  readonly machine: MachineInfo | undefined;
  readonly devices: DeviceResources;
  /** The node object's current values. */
  readonly existing: { readonly capacity?: ResourceList; readonly allocatable?: ResourceList };
}

export interface NodeResources {
  readonly capacity: ResourceList;
  readonly allocatable: ResourceList;
}

export function nodeResources(input: CapacityInput): NodeResources {
  const capacity = { ...input.existing.capacity, ...machineCapacity(input.settings, input.machine) };
  if (input.machine !== undefined) {
    Object.assign(capacity, input.devices.capacity);
    for (const resource of input.devices.removed) capacity[resource] = '0';
  }
  return { capacity, allocatable: allocatableOf(input, capacity) };
}

/** The machine's own capacity, without devices. */
export function machineCapacity(
  { maxPods, podsPerCore, localStorageCapacityIsolation }: CapacitySettings,
  machine: MachineInfo | undefined,
): ResourceList {
  if (machine === undefined) return { cpu: '0', memory: '0', pods: String(maxPods) };
  const capacity: ResourceList = {
    cpu: String(machine.cpus),
    memory: bytes(machine.memoryBytes),
    pods: String(podsPerCore > 0 ? Math.min(machine.cpus * podsPerCore, maxPods) : maxPods),
  };
  for (const { pageSizeBytes, pages } of machine.hugePages) {
    capacity[`${hugePagesPrefix}${bytes(pageSizeBytes)}`] = bytes(pageSizeBytes * pages);
  }
  if (localStorageCapacityIsolation && machine.rootFilesystemBytes !== undefined) {
    capacity['ephemeral-storage'] = formatQuantity(quantityOf(BigInt(machine.rootFilesystemBytes)));
  }
  return capacity;
}

function allocatableOf({ settings, devices, existing }: CapacityInput, capacity: ResourceList): ResourceList {
  const kept = Object.entries(existing.allocatable ?? {}).filter(
    ([resource]) => resource in capacity || !isExtendedResource(resource),
  );
  const allocatable: ResourceList = Object.fromEntries(kept);
  const reservation = nodeReservation(settings, capacity);
  for (const [resource, amount] of Object.entries(capacity)) {
    allocatable[resource] = less(amount, reservation[resource] ?? '0');
  }
  Object.assign(allocatable, devices.allocatable);
  const memory = allocatable.memory;
  if (memory !== undefined) {
    const inHugePages = Object.entries(capacity)
      .filter(([resource]) => isHugePageResource(resource))
      .reduce((sum: Quantity, [, amount]) => addQuantities(sum, parseQuantity(amount)), zeroQuantity);
    allocatable.memory = less(memory, formatQuantity(inHugePages));
  }
  return allocatable;
}

/** The difference, never negative. */
function less(amount: string, taken: string): string {
  const rest = subtractQuantities(parseQuantity(amount), parseQuantity(taken));
  return rest.nanos < 0n ? '0' : formatQuantity(rest);
}

function bytes(amount: number): string {
  return formatQuantity(quantityOf(BigInt(amount), 'BinarySI'));
}
