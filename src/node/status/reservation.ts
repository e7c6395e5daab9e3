/** Computes the node's reservations: for the system, for Kubernetes, and for the hard eviction thresholds. */
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  type Quantity,
  quantityOf,
  quantityValue,
  type ResourceList,
  tryParseQuantity,
} from '../../kube/index.js';

export interface ReservationSettings {
  readonly systemReserved: ResourceList;
  readonly kubeReserved: ResourceList;
  /** Signal to threshold, such as `memory.available` to `100Mi` or `10%`. */
  readonly evictionHard: Readonly<Record<string, string>>;
  /** If set, the hard thresholds do not reduce allocatable. */
  readonly ignoreEviction?: boolean;
}

const reservingSignals: readonly (readonly [signal: string, resource: string])[] = [
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
      const threshold = thresholdOf(settings.evictionHard[signal], capacity[resource]);
      if (threshold !== undefined) add(resource, threshold);
    }
  }
  return Object.fromEntries([...reserved].map(([resource, amount]) => [resource, formatQuantity(amount)]));
}

function thresholdOf(threshold: string | undefined, capacityText: string | undefined): Quantity | undefined {
  if (threshold === undefined) return undefined;
  const [, percent] = /^(\d+(?:\.\d+)?)%$/.exec(threshold) ?? [];
  if (percent === undefined) return tryParseQuantity(threshold);
  if (capacityText === undefined) return undefined;
  const total = Number(quantityValue(parseQuantity(capacityText)));
  // Kubernetes uses single precision for the share; the same rounding yields the same bytes.
  const share = Math.fround(Math.fround(Number(percent)) / 100);
  return quantityOf(BigInt(Math.floor(total * share)), 'BinarySI');
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
