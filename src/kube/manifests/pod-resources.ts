/** What a pod asks for in all: its containers together, and what it has of its own. */

import { addToLimits, claimedByPod } from '../pods/claimed-amounts.js';
import { isSidecar } from '../pods/pod-names.js';
import type { Container, ResourceRequirements } from '../types/container.js';
import type { PodManifest, PodSpec } from '../types/pod.js';
import {
  addQuantities,
  compareQuantities,
  parseQuantity,
  type Quantity,
  zeroQuantity,
} from '../values/quantity.js';

/** Quantities by the name of their resource. */
export type ResourceQuantities = Map<string, Quantity>;

export function isHugePageName(name: string): boolean {
  return name.startsWith('hugepages-');
}

/** Pod-level resources exist only for these. */
export function isPodLevelResource(name: string): boolean {
  return name === 'cpu' || name === 'memory' || isHugePageName(name);
}

/**
 * The peak of all containers together: regular ones and sidecars run at once, other init containers one after
 * another beside the sidecars started before them.
 */
export function aggregateContainers(spec: PodSpec, side: 'limits' | 'requests'): Map<string, Quantity> {
  const running: ResourceQuantities = new Map();
  for (const container of spec.containers) add(running, container, side);
  const sidecars: ResourceQuantities = new Map();
  const peak: ResourceQuantities = new Map();
  for (const container of spec.initContainers ?? []) {
    if (isSidecar(container)) {
      add(running, container, side);
      add(sidecars, container, side);
      raise(peak, sidecars);
    } else {
      const current = new Map(sidecars);
      add(current, container, side);
      raise(peak, current);
    }
  }
  raise(running, peak);
  return running;
}

/** The pod's total: its containers together, replaced by pod-level amounts where given. */
export function aggregatePod(spec: PodSpec, side: 'limits' | 'requests'): Map<string, Quantity> {
  const amounts = aggregateContainers(spec, side);
  for (const [name, text] of Object.entries(spec.resources?.[side] ?? {})) {
    if (isPodLevelResource(name)) amounts.set(name, countedAmount(text));
  }
  return amounts;
}

/** What the pod and its claims ask for, without the overhead of its sandbox. */
export function workloadRequests(pod: PodManifest): Map<string, Quantity> {
  const requests = aggregatePod(pod.spec, 'requests');
  for (const [name, amount] of claimedByPod(pod)) addAmount(requests, name, amount);
  return requests;
}

/** What the pod and its claims may take at most, without the overhead of its sandbox. */
export function workloadLimits(pod: PodManifest): Map<string, Quantity> {
  const limits = aggregatePod(pod.spec, 'limits');
  addToLimits(limits, claimedByPod(pod));
  return limits;
}

/** What the pod asks for in all: its containers together or its own pod-level requests, its claims, and overhead. */
export function podRequests(pod: PodManifest): Map<string, Quantity> {
  const requests = workloadRequests(pod);
  for (const [name, text] of Object.entries(pod.spec.overhead ?? {}))
    addAmount(requests, name, countedAmount(text));
  return requests;
}

/** What the pod may take at most, with overhead where there is a limit. */
export function podLimits(pod: PodManifest): Map<string, Quantity> {
  const limits = workloadLimits(pod);
  for (const [name, text] of Object.entries(pod.spec.overhead ?? {})) {
    const known = limits.get(name);
    if (known === undefined || compareQuantities(known, zeroQuantity) === 0) continue;
    limits.set(name, addQuantities(known, countedAmount(text)));
  }
  return limits;
}

/** Nobody makes room by asking for less than nothing; a pod that got past all validation may try. */
export function countedAmount(text: string): Quantity {
  const amount = parseQuantity(text);
  return amount.nanos < 0n ? zeroQuantity : amount;
}

function add(
  amounts: ResourceQuantities,
  container: Container,
  side: keyof Pick<ResourceRequirements, 'limits' | 'requests'>,
): void {
  for (const [name, text] of Object.entries(container.resources?.[side] ?? {})) {
    addAmount(amounts, name, countedAmount(text));
  }
}

function addAmount(amounts: ResourceQuantities, name: string, amount: Quantity): void {
  const known = amounts.get(name);
  amounts.set(name, known === undefined ? amount : addQuantities(known, amount));
}

function raise(amounts: ResourceQuantities, others: ResourceQuantities): void {
  for (const [name, amount] of others) {
    const known = amounts.get(name);
    if (known === undefined || compareQuantities(known, amount) < 0) amounts.set(name, amount);
  }
}
