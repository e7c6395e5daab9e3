/** Decides the sizes of a Deployment's ReplicaSets when its own size changes: in proportion, while a rollout is under way. */
import type { Deployment, ReplicaSet } from '../../kube/index.js';
import { createdMs } from '../pods/pod-facts.js';
import { type DeploymentRevisions, isResized, maxReplicasAnnotation } from './revisions.js';
import { isRolling, rolloutBounds, totalWanted, wantedReplicas } from './rollout-bounds.js';

/** A ReplicaSet with the size that it must have. */
export interface SetScale {
  readonly set: ReplicaSet;
  readonly replicas: number;
}

export function allSets({ newSet, oldSets }: DeploymentRevisions): readonly ReplicaSet[] {
  return newSet === undefined ? oldSets : [...oldSets, newSet];
}

/** Whether the Deployment's size changed: that comes before its rollout goes on. */
export function isScaling(deployment: Deployment, revisions: DeploymentRevisions): boolean {
  return allSets(revisions).some((set) => wantedReplicas(set) > 0 && isResized(deployment, set));
}

export function scaleSteps(deployment: Deployment, revisions: DeploymentRevisions): SetScale[] {
  const { newSet, oldSets } = revisions;
  const { replicas } = rolloutBounds(deployment);
  const active = allSets(revisions).filter((set) => wantedReplicas(set) > 0);
  const only = active.length > 1 ? undefined : (active[0] ?? newSet ?? oldSets.at(-1));
  if (only !== undefined) return [{ set: only, replicas }];
  if (newSet !== undefined && isSaturated(deployment, newSet)) {
    return oldSets.filter((set) => wantedReplicas(set) > 0).map((set) => ({ set, replicas: 0 }));
  }
  return isRolling(deployment) ? inProportion(deployment, active) : [];
}

function isSaturated(deployment: Deployment, newSet: ReplicaSet): boolean {
  const { replicas } = rolloutBounds(deployment);
  return (
    wantedReplicas(newSet) === replicas &&
    !isResized(deployment, newSet) &&
    (newSet.status?.availableReplicas ?? 0) === replicas
  );
}

/** Each set grows or shrinks by its share; what rounding leaves goes to the largest. */
function inProportion(deployment: Deployment, active: readonly ReplicaSet[]): SetScale[] {
  const { replicas, maxSurge } = rolloutBounds(deployment);
  const allowed = replicas > 0 ? replicas + maxSurge : 0;
  const change = allowed - totalWanted(active);
  // The newest gains first, the oldest loses first.
  const ordered = [...active].sort(
    (a, b) =>
      wantedReplicas(b) - wantedReplicas(a) ||
      (change > 0 ? createdMs(b) - createdMs(a) : createdMs(a) - createdMs(b)),
  );
  let left = change;
  const scaled = ordered.map((set) => {
    const share = change === 0 ? 0 : shareOf(deployment, set, allowed);
    const given = change > 0 ? Math.min(Math.max(0, share), left) : Math.max(Math.min(0, share), left);
    left -= given;
    return { set, replicas: wantedReplicas(set) + given };
  });
  return scaled.map((entry, index) =>
    index === 0 ? { ...entry, replicas: Math.max(0, entry.replicas + left) } : entry,
  );
}

function shareOf({ status }: Deployment, set: ReplicaSet, allowed: number): number {
  const current = wantedReplicas(set);
  const told = Number(set.metadata.annotations?.[maxReplicasAnnotation] ?? Number.NaN);
  const before = Number.isInteger(told) && told > 0 ? told : (status?.replicas ?? 0);
  return before <= 0 ? 0 : Math.round((current * allowed) / before) - current;
}
