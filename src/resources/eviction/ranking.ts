/** Decides in which order pods have to go, with the reason for the place of each. */
import { type EvictionSignal, isCriticalPod, type Pod, podRequestTotal } from '../../kube/index.js';
import type { FileSystemLayout } from './layout.js';
import { signalAmount } from './message.js';
import { diskParts, diskUsage, type StatsOfPod } from './pod-usage.js';
import { type StarvedResource, signalFacts } from './signals.js';

/** What decides between two pods; `order` where nothing does. */
export type RankCriterion = 'statistics' | 'request' | 'priority' | 'usage' | 'order';

export interface RankedPod {
  readonly pod: Pod;
  /** The first criterion in which it differs from the pod behind it; undefined for the last. */
  readonly before: RankCriterion | undefined;
  /** Undefined where the pod has no statistics. */
  readonly usage: number | undefined;
  /** What it asked for of the resource. */
  readonly request: number;
  readonly priority: number;
  /** Why it stands where it does, for people. */
  readonly because: string;
}

export interface RankInput {
  readonly signal: EvictionSignal;
  readonly layout: FileSystemLayout;
  readonly pods: readonly Pod[];
  readonly statsOf: StatsOfPod;
}

interface Candidate {
  readonly pod: Pod;
  readonly usage: number | undefined;
  readonly request: number;
  readonly priority: number;
  readonly isOver: boolean;
  /** Usage beyond what counts as asked for. */
  readonly excess: number;
}

interface Criterion {
  readonly name: RankCriterion;
  /** Negative if the first pod goes first. */
  readonly compare: (a: Candidate, b: Candidate) => number;
}

const byStatistics: Criterion = {
  name: 'statistics',
  compare: (a, b) => Number(a.usage !== undefined) - Number(b.usage !== undefined),
};
const byRequest: Criterion = {
  name: 'request',
  compare: (a, b) => Number(b.isOver) - Number(a.isOver),
};
const byPriority: Criterion = { name: 'priority', compare: (a, b) => a.priority - b.priority };
const byUsage: Criterion = { name: 'usage', compare: (a, b) => b.excess - a.excess };

/** The pod that has to go first comes first. */
export function rankPods(input: RankInput): RankedPod[] {
  const criteria =
    signalFacts[input.signal].resource === 'pids'
      ? [byPriority, byStatistics, byUsage]
      : [byStatistics, byRequest, byPriority, byUsage];
  const decide = (a: Candidate, b: Candidate): Criterion | undefined =>
    criteria.find(({ compare }) => compare(a, b) !== 0);
  const sorted = input.pods
    .map((pod) => candidate(pod, input))
    .sort((a, b) => decide(a, b)?.compare(a, b) ?? 0);
  return sorted.map((one, index) => {
    const next = sorted[index + 1];
    const before = next && (decide(one, next)?.name ?? 'order');
    const { pod, usage, request, priority } = one;
    return { pod, before, usage, request, priority, because: reason(one, before, input.signal) };
  });
}

export interface Choice {
  readonly chosen: RankedPod | undefined;
  /** Pods before it that cannot be evicted. */
  readonly passedOver: readonly { readonly pod: Pod; readonly because: string }[];
}

/** The first pod of a ranking that may be evicted. */
export function chooseFirst(ranking: readonly RankedPod[], isBeingEvicted: (uid: string) => boolean): Choice {
  const passedOver: { pod: Pod; because: string }[] = [];
  for (const ranked of ranking) {
    const { pod } = ranked;
    const because = whyPassedOver(pod, isBeingEvicted);
    if (because === undefined) return { chosen: ranked, passedOver };
    passedOver.push({ pod, because });
  }
  return { chosen: undefined, passedOver };
}

/** Why a pod cannot be evicted now; undefined if it can. */
export function whyPassedOver(pod: Pod, isBeingEvicted: (uid: string) => boolean): string | undefined {
  if (isCriticalPod(pod)) return 'critical pods are not evicted';
  return isBeingEvicted(pod.metadata.uid) ? 'it is being evicted already' : undefined;
}

function candidate(pod: Pod, { signal, layout, statsOf }: RankInput): Candidate {
  const stats = statsOf(pod.metadata.uid);
  const priority = pod.spec.priority ?? 0;
  switch (signalFacts[signal].resource) {
    case 'memory':
      return measured(pod, priority, stats?.memory?.workingSetBytes, podRequestTotal(pod, 'memory'));
    case 'ephemeral-storage': {
      const usage = stats && diskUsage(pod, stats, diskParts(signal, layout), 'bytes');
      return measured(pod, priority, usage, podRequestTotal(pod, 'ephemeral-storage'));
    }
    case 'inodes': {
      const usage = stats && diskUsage(pod, stats, diskParts(signal, layout), 'inodes');
      // Nobody asks for inodes, so what a pod asked for of the disk decides between two that use some.
      const excess = (usage ?? 0) - podRequestTotal(pod, 'ephemeral-storage');
      return { ...measured(pod, priority, usage, 0), excess };
    }
    case 'pids':
      return measured(pod, priority, stats?.process_stats?.process_count, 0);
  }
}

function measured(pod: Pod, priority: number, usage: number | undefined, request: number): Candidate {
  const excess = (usage ?? 0) - request;
  return { pod, priority, usage, request, isOver: usage !== undefined && excess > 0, excess };
}

function reason(
  { usage, request, priority, isOver }: Candidate,
  before: RankCriterion | undefined,
  signal: EvictionSignal,
): string {
  const { unit, resource } = signalFacts[signal];
  const amount = (value: number): string => signalAmount(value, unit);
  const use =
    usage === undefined
      ? 'its usage is not known'
      : resource === 'pids'
        ? `it has ${amount(usage)} processes`
        : resource === 'inodes'
          ? `it uses ${amount(usage)} inodes`
          : `it uses ${amount(usage)} of ${resource}, ${isOver ? 'more than' : 'within'} the ${amount(request)} that it requests`;
  return `${use}; its priority is ${priority}${decided(before, resource)}`;
}

function decided(before: RankCriterion | undefined, resource: StarvedResource): string {
  switch (before) {
    case undefined:
      return '';
    case 'statistics':
      return '; the next one has statistics';
    case 'request':
      return '; the next one is within its request';
    case 'priority':
      return '; the next one has a higher priority';
    case 'usage':
      return resource === 'pids'
        ? '; the next one has fewer'
        : '; the next one is less beyond what it requests';
    case 'order':
      return '; the next one is alike';
  }
}
