/** Decides which pods have to go so that a critical one fits. */
import { isCriticalPod, type Pod, podRequestTotal, qosClass } from '../../kube/index.js';
import type { Shortage } from './admission.js';

/** How much of each resource is missing, in the order in which the pod was refused for them. */
export type Requirements = ReadonlyMap<string, number>;

export type PreemptionChoice =
  | { readonly kind: 'victims'; readonly pods: readonly Pod[] }
  /** Not even all of them together would be enough. */
  | { readonly kind: 'impossible'; readonly missing: Requirements };

export function requirementsOf(shortages: readonly Shortage[]): Requirements {
  return new Map(
    shortages.map(({ resource, requested, used, capacity }) => [resource, requested - (capacity - used)]),
  );
}

/** Pods that lose least go: those without requests before those with some, and as few as are needed. */
export function choosePreempted(
  preemptor: Pod,
  active: readonly Pod[],
  shortages: readonly Shortage[],
): PreemptionChoice {
  const required = requirementsOf(shortages);
  const candidates = active.filter((pod) => mayPreempt(preemptor, pod));
  const missing = less(required, candidates);
  if (missing.size > 0) return { kind: 'impossible', missing };
  const ofClass = (name: string): Pod[] => candidates.filter((pod) => qosClass(pod) === name);
  const bestEffort = ofClass('BestEffort');
  const burstable = ofClass('Burstable');
  const fromGuaranteed = choose(ofClass('Guaranteed'), less(required, [...bestEffort, ...burstable]));
  const fromBurstable = choose(burstable, less(required, [...bestEffort, ...fromGuaranteed]));
  const fromBestEffort = choose(bestEffort, less(required, [...fromBurstable, ...fromGuaranteed]));
  return { kind: 'victims', pods: [...fromBestEffort, ...fromBurstable, ...fromGuaranteed] };
}

/** The text of requirements in refusals: `[(res: cpu, q: 200), ]`. */
export function requirementsText(requirements: Requirements): string {
  return `[${[...requirements].map(([resource, amount]) => `(res: ${resource}, q: ${amount}), `).join('')}]`;
}

function mayPreempt(preemptor: Pod, pod: Pod): boolean {
  if (preemptor.metadata.uid === pod.metadata.uid) return false;
  if (isCriticalPod(preemptor) && !isCriticalPod(pod)) return true;
  const [higher, lower] = [preemptor.spec.priority, pod.spec.priority];
  return higher !== undefined && lower !== undefined && higher > lower;
}

/** What is left to find when these pods go. */
function less(required: Requirements, pods: readonly Pod[]): Requirements {
  const left = new Map<string, number>();
  for (const [resource, amount] of required) {
    const rest = pods.reduce((sum, pod) => sum - podRequestTotal(pod, resource), amount);
    if (rest > 0) left.set(resource, rest);
  }
  return left;
}

/** The pods that come closest to what is missing, one by one, until nothing is. */
function choose(candidates: readonly Pod[], required: Requirements): Pod[] {
  const left = [...candidates];
  const chosen: Pod[] = [];
  let missing = required;
  while (missing.size > 0 && left.length > 0) {
    const index = closest(left, missing);
    const [pod] = left.slice(index, index + 1);
    const last = left.pop();
    if (pod === undefined || last === undefined) break;
    if (index < left.length) left[index] = last;
    chosen.push(pod);
    missing = less(missing, [pod]);
  }
  return chosen;
}

/** Among equals the one that asks for less memory, then for less CPU, then the last. */
function closest(pods: readonly Pod[], missing: Requirements): number {
  let best = 0;
  for (const [index, pod] of pods.entries()) {
    const current = pods[best];
    if (current === undefined || !isWorse(pod, current, missing)) best = index;
  }
  return best;
}

function isWorse(pod: Pod, than: Pod, missing: Requirements): boolean {
  const byDistance = distance(pod, missing) - distance(than, missing);
  if (byDistance !== 0) return byDistance > 0;
  for (const resource of ['memory', 'cpu']) {
    const difference = podRequestTotal(pod, resource) - podRequestTotal(than, resource);
    if (difference !== 0) return difference > 0;
  }
  return false;
}

/** Zero for a pod that frees all that is missing. */
function distance(pod: Pod, missing: Requirements): number {
  let sum = 0;
  for (const [resource, amount] of missing) {
    const short = Math.max(0, amount - podRequestTotal(pod, resource)) / amount;
    sum += short * short;
  }
  return sum;
}
