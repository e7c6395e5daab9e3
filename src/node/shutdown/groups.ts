/** Which pods are killed when at a shutdown of the machine, and with how much grace: pure decisions. */
import type { Pod } from '../../kube/index.js';

/** Pods from this priority up to that of the next group are killed together, within the period. */
export interface ShutdownGroup {
  readonly priority: number;
  readonly periodSeconds: number;
}

export interface ShutdownPeriods {
  readonly shutdownGracePeriod: number;
  readonly shutdownGracePeriodCriticalPods: number;
  readonly shutdownGracePeriodByPodPriority: readonly {
    readonly priority: number;
    readonly shutdownGracePeriodSeconds: number;
  }[];
}

/** `system-cluster-critical`, the lowest priority that counts as critical. */
const criticalPriority = 2_000_000_000;

/** By ascending priority; none where the configuration asks for no delay. */
export function shutdownGroups(config: ShutdownPeriods): readonly ShutdownGroup[] {
  const { shutdownGracePeriod: totalMs, shutdownGracePeriodCriticalPods: criticalMs } = config;
  const given = config.shutdownGracePeriodByPodPriority.map(({ priority, shutdownGracePeriodSeconds }) => ({
    priority,
    periodSeconds: shutdownGracePeriodSeconds,
  }));
  if (given.length > 0) return given.sort((a, b) => a.priority - b.priority);
  if (totalMs <= 0) return [];
  return [
    { priority: 0, periodSeconds: Math.floor((totalMs - criticalMs) / 1000) },
    { priority: criticalPriority, periodSeconds: Math.floor(criticalMs / 1000) },
  ];
}

/** What the machine's shutdown must be delayed by. */
export function shutdownDelayMs(groups: readonly ShutdownGroup[]): number {
  return groups.reduce((sum, { periodSeconds }) => sum + periodSeconds, 0) * 1000;
}

export interface GroupOfPods extends ShutdownGroup {
  readonly pods: readonly Pod[];
}

/** Every pod in the highest group that its priority reaches, or in the lowest; groups without pods are left out. */
export function podsByGroup(groups: readonly ShutdownGroup[], pods: readonly Pod[]): readonly GroupOfPods[] {
  const lowest = groups[0];
  const groupOf = (pod: Pod): ShutdownGroup | undefined =>
    groups.findLast(({ priority }) => priority <= (pod.spec.priority ?? 0)) ?? lowest;
  return groups
    .map((group) => ({ ...group, pods: pods.filter((pod) => groupOf(pod) === group) }))
    .filter((group) => group.pods.length > 0);
}

/** The pod's own grace, cut to the period of its group. */
export function shutdownGraceSeconds(group: ShutdownGroup, pod: Pod): number {
  return Math.min(group.periodSeconds, pod.spec.terminationGracePeriodSeconds ?? group.periodSeconds);
}
