/** How many pods a Deployment may have too many and too few while it is rolled out. */
import type { Deployment, ReplicaSet } from '../../kube/index.js';
import { intOrPercent } from '../pods/int-or-percent.js';

export interface RolloutBounds {
  readonly replicas: number;
  readonly maxSurge: number;
  readonly maxUnavailable: number;
  readonly minAvailable: number;
}

export function isRolling({ spec }: Deployment): boolean {
  return spec.strategy?.type !== 'Recreate';
}

export function rolloutBounds(deployment: Deployment): RolloutBounds {
  const { spec } = deployment;
  const replicas = spec.replicas ?? 1;
  if (!isRolling(deployment)) return { replicas, maxSurge: 0, maxUnavailable: replicas, minAvailable: 0 };
  const { maxSurge: surge, maxUnavailable: missing } = spec.strategy?.rollingUpdate ?? {};
  const maxSurge = intOrPercent(surge, replicas, 'up', '25%');
  const wanted = intOrPercent(missing, replicas, 'down', '25%');
  // With neither room nor a pod to miss, a rollout could not begin.
  const maxUnavailable = Math.min(maxSurge === 0 && wanted === 0 ? 1 : wanted, replicas);
  return { replicas, maxSurge, maxUnavailable, minAvailable: replicas - maxUnavailable };
}

export function wantedReplicas({ spec }: ReplicaSet): number {
  return spec.replicas ?? 1;
}

export function totalWanted(sets: readonly ReplicaSet[]): number {
  return sets.reduce((sum, set) => sum + wantedReplicas(set), 0);
}

export function totalAvailable(sets: readonly ReplicaSet[]): number {
  return sets.reduce((sum, { status }) => sum + (status?.availableReplicas ?? 0), 0);
}
