/** Computes the node's reservations: for the system, for Kubernetes, and for the hard eviction thresholds. */
import {
  addQuantities,
  compareQuantities,
  type EvictionSignal,
  formatQuantity,
  parseQuantity,
  type Quantity,
  quantityUnits,
  type ResourceList,
  thresholdQuantity,
  thresholdValue,
} from '../../kube/index.js';

export interface ReservationSettings {
  readonly systemReserved: ResourceList;
  readonly kubeReserved: ResourceList;
  /** Signal to threshold, such as `memory.available` to `100Mi` or `10%`. */
  readonly evictionHard: Readonly<Record<string, string>>;
  /** If set, the hard thresholds do not reduce allocatable. */
  readonly ignoreEviction?: boolean;
}

const reservingSignals: readonly (readonly [signal: EvictionSignal, resource: string])[] = [
  ['memory.available', 'memory'],
  ['nodefs.available', 'ephemeral-storage'],
];

/** The reserved amount of each resource of the machine. */
export function nodeReservation(settings: ReservationSettings, capacity: ResourceList): ResourceList {
  const reserved = new Map<string, Quantity>();
  const add = (resource: string, amount: Quantity): void => {
    const known = reserved.get(resource);
    reserved.set(resource, known === undefined ? amount : addQuantities(known, amount));
  };
  for (const list of [settings.systemReserved, settings.kubeReserved]) {
    for (const [resource, amount] of Object.entries(list)) add(resource, parseQuantity(amount));
  }
  if (settings.ignoreEviction !== true) {
    for (const [signal, resource] of reservingSignals) {
      const threshold = reservedFor(signal, settings.evictionHard[signal], capacity[resource]);
      if (threshold !== undefined) add(resource, threshold);
    }
  }
  return Object.fromEntries([...reserved].map(([resource, amount]) => [resource, formatQuantity(amount)]));
}

/** Undefined for a signal that is switched off. */
function reservedFor(
  signal: EvictionSignal,
  text: string | undefined,
  capacityText: string | undefined,
): Quantity | undefined {
  const value = text === undefined ? undefined : thresholdValue(signal, text);
  if (value === undefined || (value.kind === 'fraction' && capacityText === undefined)) return undefined;
  return thresholdQuantity(value, capacityText === undefined ? 0 : quantityUnits(capacityText));
}

/** Why the node cannot start with this reservation; undefined if the machine has enough. */
export function reservationProblem(capacity: ResourceList, reservation: ResourceList): string | undefined {
  const problems = Object.entries(reservation).flatMap(([resource, reserved]) => {
    const has = capacity[resource];
    if (has === undefined || compareQuantities(parseQuantity(has), parseQuantity(reserved)) >= 0) return [];
    return [
      `Resource "${resource}" has a reservation of ${reserved} but capacity of ${has}. Expected capacity >= reservation.`,
    ];
  });
  return problems.length === 0 ? undefined : `invalid Node Allocatable configuration. ${problems.join(' ')}`;
}
