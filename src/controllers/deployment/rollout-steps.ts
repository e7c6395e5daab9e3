/** Decides the next step of a Deployment's rollout: which ReplicaSet grows, and which shrink. */
import type { Deployment, ReplicaSet } from '../../kube/index.js';
import type { DeploymentRevisions } from './revisions.js';
import { isRolling, rolloutBounds, totalAvailable, totalWanted, wantedReplicas } from './rollout-bounds.js';
import { allSets, type SetScale } from './scale-steps.js';

export type RolloutStep =
  /** Make the ReplicaSet of the current template. */
  | { readonly kind: 'create'; readonly replicas: number }
  | { readonly kind: 'scale'; readonly scales: readonly SetScale[] }
  /** Nothing to do until pods come or go. */
  | { readonly kind: 'wait'; readonly because: string };

export interface RolloutInput {
  readonly deployment: Deployment;
  readonly revisions: DeploymentRevisions;
  /** Whether pods of older templates still run, on their way out or not. */
  readonly hasOldPods: boolean;
}

export function decideRollout(input: RolloutInput): RolloutStep {
  return isRolling(input.deployment) ? rollingStep(input) : recreateStep(input);
}

function recreateStep({ deployment, revisions, hasOldPods }: RolloutInput): RolloutStep {
  const { newSet, oldSets } = revisions;
  const { replicas } = rolloutBounds(deployment);
  const running = oldSets.filter((set) => wantedReplicas(set) > 0);
  if (running.length > 0) return { kind: 'scale', scales: running.map((set) => ({ set, replicas: 0 })) };
  if (hasOldPods) return { kind: 'wait', because: 'pods of the former template still run' };
  if (newSet === undefined) return { kind: 'create', replicas };
  if (wantedReplicas(newSet) === replicas) return { kind: 'wait', because: 'the size is right' };
  return { kind: 'scale', scales: [{ set: newSet, replicas }] };
}

function rollingStep({ deployment, revisions }: RolloutInput): RolloutStep {
  const { newSet, oldSets } = revisions;
  const { replicas, maxSurge } = rolloutBounds(deployment);
  const current = newSet === undefined ? 0 : wantedReplicas(newSet);
  const room = Math.max(0, replicas + maxSurge - totalWanted(allSets(revisions)));
  const grown = current > replicas ? replicas : current + Math.min(room, replicas - current);
  if (newSet === undefined) return { kind: 'create', replicas: grown };
  if (grown !== current) return { kind: 'scale', scales: [{ set: newSet, replicas: grown }] };
  const scales = shrinkOld(deployment, newSet, oldSets);
  return scales.length === 0
    ? { kind: 'wait', because: 'pods are not available yet' }
    : { kind: 'scale', scales };
}

/** First the old pods that are not available, then others as far as enough stay available. */
function shrinkOld(deployment: Deployment, newSet: ReplicaSet, oldSets: readonly ReplicaSet[]): SetScale[] {
  const { minAvailable } = rolloutBounds(deployment);
  const sets = [...oldSets, newSet];
  const newMissing = wantedReplicas(newSet) - (newSet.status?.availableReplicas ?? 0);
  let spare = totalWanted(sets) - minAvailable - newMissing;
  if (spare <= 0) return [];
  const sizes = new Map(oldSets.map((set) => [set, wantedReplicas(set)]));
  for (const [set, size] of sizes) {
    const unhealthy = Math.max(0, size - (set.status?.availableReplicas ?? 0));
    const gone = Math.min(unhealthy, spare);
    sizes.set(set, size - gone);
    spare -= gone;
  }
  let surplus = totalAvailable(sets) - minAvailable;
  for (const [set, size] of sizes) {
    const gone = Math.max(0, Math.min(size, surplus));
    sizes.set(set, size - gone);
    surplus -= gone;
  }
  return [...sizes]
    .filter(([set, size]) => size !== wantedReplicas(set))
    .map(([set, replicas]) => ({ set, replicas }));
}

/** The old ReplicaSets beyond the history that is kept, the oldest first. */
export function expiredSets({ spec }: Deployment, oldSets: readonly ReplicaSet[]): readonly ReplicaSet[] {
  const limit = spec.revisionHistoryLimit ?? 10;
  const idle = oldSets.filter(
    (set) =>
      wantedReplicas(set) === 0 &&
      (set.status?.replicas ?? 0) === 0 &&
      (set.metadata.generation ?? 0) <= (set.status?.observedGeneration ?? 0) &&
      set.metadata.deletionTimestamp === undefined,
  );
  return idle.slice(0, Math.max(0, idle.length - limit));
}
