/** Decides which pods go first when there are too many. */
import type { Pod } from '../../kube/index.js';
import { createdMs, isReady, mostRestarts, readySinceMs } from '../pods/pod-facts.js';

const costAnnotation = 'controller.kubernetes.io/pod-deletion-cost';
const phaseRanks: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 };

/** The pods in the order in which they are deleted: those that serve least come first. */
export function inDeletionOrder(pods: readonly Pod[]): Pod[] {
  return [...pods].sort(
    (a, b) =>
      assigned(a) - assigned(b) ||
      phaseRank(a) - phaseRank(b) ||
      Number(isReady(a)) - Number(isReady(b)) ||
      deletionCost(a) - deletionCost(b) ||
      // The pod that became ready last has done least.
      (readySinceMs(b) ?? 0) - (readySinceMs(a) ?? 0) ||
      mostRestarts(b) - mostRestarts(a) ||
      createdMs(b) - createdMs(a) ||
      (a.metadata.name < b.metadata.name ? -1 : 1),
  );
}

function assigned({ spec }: Pod): number {
  return spec.nodeName ? 1 : 0;
}

function phaseRank({ status }: Pod): number {
  return phaseRanks[status?.phase ?? 'Pending'] ?? 1;
}

/** A cost that is no 32-bit number counts as none. */
function deletionCost({ metadata }: Pod): number {
  const text = metadata.annotations?.[costAnnotation] ?? '0';
  const cost = /^(?:0|-?[1-9]\d{0,9})$/.test(text) ? Number(text) : 0;
  return Math.abs(cost) <= 2 ** 31 ? cost : 0;
}
