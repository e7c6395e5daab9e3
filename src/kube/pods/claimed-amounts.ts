/** What claims of devices take of a node's CPU, memory and huge pages for a pod, as the scheduler worked it out. */
import { isHugePageName } from '../manifests/pod-resources.js';
import type { PodManifest } from '../types/pod.js';
import type { NodeAllocatableClaimStatus } from '../types/pod-status.js';
import {
  addQuantities,
  parseQuantity,
  type Quantity,
  scaleQuantity,
  zeroQuantity,
} from '../values/quantity.js';

type NamedQuantities = ReadonlyMap<string, Quantity>;

const none: NamedQuantities = new Map();

/** What a claim takes as a whole, and more for each container that uses it. */
interface ClaimAmounts {
  readonly containers: readonly string[];
  readonly once: NamedQuantities;
  readonly perContainer: NamedQuantities;
}

/** Of all claims together; nothing for most pods. */
export function claimedByPod(pod: PodManifest): NamedQuantities {
  return together(
    claimsOf(pod).flatMap(({ containers, once, perContainer }) => [
      once,
      scaled(perContainer, BigInt(containers.length)),
    ]),
  );
}

/** What a container may use of its claims: all of each, since those that share it may not use it at once. */
export function claimedByContainer(pod: PodManifest, name: string): NamedQuantities {
  return together(
    claimsOf(pod)
      .filter(({ containers }) => containers.includes(name))
      .flatMap(({ once, perContainer }) => [once, perContainer]),
  );
}

/** A container's part of its claims, where those that share one share what it takes. */
export function claimedShare(pod: PodManifest, name: string): NamedQuantities {
  return together(
    claimsOf(pod)
      .filter(({ containers }) => containers.includes(name))
      .flatMap(({ containers, once, perContainer }) => [
        scaled(once, 1n, BigInt(containers.length)),
        perContainer,
      ]),
  );
}

/** Adds what claims take to limits: to those that there are, and of huge pages always, as their lack is a limit of 0. */
export function addToLimits(limits: Map<string, Quantity>, claimed: NamedQuantities): void {
  for (const [name, amount] of claimed) {
    const known = limits.get(name);
    if (known === undefined && !isHugePageName(name)) continue;
    limits.set(name, known === undefined ? amount : addQuantities(known, amount));
  }
}

function claimsOf({ status }: PodManifest): ClaimAmounts[] {
  return (status?.nodeAllocatableResourceClaimStatuses ?? []).map(amountsOf);
}

function amountsOf({
  containers = [],
  mapping = [],
  overhead = [],
}: NodeAllocatableClaimStatus): ClaimAmounts {
  return {
    containers,
    once: together([
      listed(mapping.map(({ name, quantity }) => [name, quantity])),
      listed(overhead.map(({ name, perPod }) => [name, perPod])),
    ]),
    perContainer: listed(overhead.map(({ name, perContainer }) => [name, perContainer])),
  };
}

/** Nothing less than nothing makes room. */
function listed(entries: readonly (readonly [name: string, amount: string | undefined])[]): NamedQuantities {
  return new Map(
    entries.map(([name, text]) => {
      const amount = text === undefined ? zeroQuantity : parseQuantity(text);
      return [name, amount.nanos < 0n ? zeroQuantity : amount];
    }),
  );
}

function scaled(amounts: NamedQuantities, numerator: bigint, denominator = 1n): NamedQuantities {
  return new Map([...amounts].map(([name, amount]) => [name, scaleQuantity(amount, numerator, denominator)]));
}

function together(lists: readonly NamedQuantities[]): NamedQuantities {
  if (lists.length === 0) return none;
  const sum = new Map<string, Quantity>();
  for (const [name, amount] of lists.flatMap((list) => [...list])) {
    const known = sum.get(name);
    sum.set(name, known === undefined ? amount : addQuantities(known, amount));
  }
  return sum;
}
