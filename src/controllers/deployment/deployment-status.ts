/** Decides a Deployment's status: its numbers, and what its conditions say of availability and progress. */
import {
  type Deployment,
  formatTimestamp,
  type ReplicaSet,
  type WorkloadCondition,
} from '../../kube/index.js';
import { timeMs } from '../pods/pod-facts.js';
import type { DeploymentRevisions } from './revisions.js';
import { rolloutBounds, totalAvailable } from './rollout-bounds.js';
import { allSets } from './scale-steps.js';

export type DeploymentStatus = NonNullable<Deployment['status']>;

export interface DeploymentStatusInput {
  readonly deployment: Deployment;
  readonly revisions: DeploymentRevisions;
  /** The ReplicaSet that this step made. */
  readonly created?: string | undefined;
  /** Why no ReplicaSet could be made. */
  readonly createError?: string | undefined;
  readonly nowMs: number;
}

/** No deadline: the largest 32-bit number means none. */
const noDeadlineSeconds = 2 ** 31 - 1;

export function deploymentStatus(input: DeploymentStatusInput): DeploymentStatus {
  const { deployment, revisions } = input;
  const sets = allSets(revisions);
  const sum = (count: (status: NonNullable<ReplicaSet['status']>) => number | undefined): number =>
    sets.reduce((total, { status }) => total + (status === undefined ? 0 : (count(status) ?? 0)), 0);
  const { generation } = deployment.metadata;
  const numbers = {
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    replicas: sum(({ replicas }) => replicas),
    updatedReplicas: revisions.newSet?.status?.replicas ?? 0,
    readyReplicas: sum(({ readyReplicas }) => readyReplicas),
    availableReplicas: sum(({ availableReplicas }) => availableReplicas),
    unavailableReplicas: Math.max(
      0,
      sets.reduce((total, { spec }) => total + (spec.replicas ?? 1), 0) - totalAvailable(sets),
    ),
    terminatingReplicas: sum(({ terminatingReplicas }) => terminatingReplicas),
  };
  const { collisionCount } = deployment.status ?? {};
  const progress = progressOf(input, numbers);
  const failure = failureOf(input);
  const given = [
    availabilityOf(deployment, numbers.availableReplicas),
    ...(progress ?? []),
    ...(failure ?? []),
  ];
  const kept = (deployment.status?.conditions ?? []).filter(
    ({ type }) => type === 'Progressing' && progress === undefined,
  );
  const conditions = [
    ...kept,
    ...given.map((condition) => merged(deployment.status?.conditions ?? [], condition, input)),
  ].sort((a, b) => (a.type < b.type ? -1 : 1));
  return { ...numbers, ...(collisionCount === undefined ? {} : { collisionCount }), conditions };
}

type ConditionFacts = Pick<WorkloadCondition, 'type' | 'status' | 'reason' | 'message'> & {
  /** It counts as news even if nothing of it changed. */
  readonly isNews?: boolean;
};

/** Keeps the times of a condition that says the same as before. */
function merged(
  current: readonly WorkloadCondition[],
  { isNews = false, ...facts }: ConditionFacts,
  { nowMs }: DeploymentStatusInput,
): WorkloadCondition {
  const known = current.find(({ type }) => type === facts.type);
  const now = formatTimestamp(nowMs);
  if (known?.status === facts.status && known.reason === facts.reason && !isNews) return known;
  const lastTransitionTime = known?.status === facts.status ? (known.lastTransitionTime ?? now) : now;
  return { ...facts, lastUpdateTime: now, lastTransitionTime };
}

function availabilityOf(deployment: Deployment, available: number): ConditionFacts {
  const isEnough = available >= rolloutBounds(deployment).minAvailable;
  return {
    type: 'Available',
    status: isEnough ? 'True' : 'False',
    reason: isEnough ? 'MinimumReplicasAvailable' : 'MinimumReplicasUnavailable',
    message: isEnough
      ? 'Deployment has minimum availability.'
      : 'Deployment does not have minimum availability.',
  };
}

function failureOf({ deployment, revisions }: DeploymentStatusInput): ConditionFacts[] {
  for (const { status } of [
    ...(revisions.newSet === undefined ? [] : [revisions.newSet]),
    ...revisions.oldSets,
  ]) {
    const failed = status?.conditions?.find(({ type }) => type === 'ReplicaFailure');
    if (failed !== undefined)
      return [
        {
          type: failed.type,
          status: failed.status,
          reason: failed.reason ?? '',
          message: failed.message ?? '',
        },
      ];
  }
  const { conditions = [] } = deployment.status ?? {};
  // While no ReplicaSet is there that could tell, the last failure stands.
  const last =
    revisions.newSet === undefined ? conditions.find(({ type }) => type === 'ReplicaFailure') : undefined;
  return last === undefined ? [] : [last];
}

function hasDeadline({ spec }: Deployment): boolean {
  return (spec.progressDeadlineSeconds ?? 600) !== noDeadlineSeconds;
}

/** The Progressing condition; undefined leaves it as it is, an empty list removes it. */
function progressOf(input: DeploymentStatusInput, next: DeploymentStatus): ConditionFacts[] | undefined {
  const { deployment, revisions, created, createError } = input;
  const { newSet } = revisions;
  const condition = progressCondition(deployment);
  const fact = (status: string, reason: string, message: string, isNews = false): ConditionFacts[] => [
    { type: 'Progressing', status, reason, message, isNews },
  ];
  if (createError !== undefined)
    return fact('False', 'ReplicaSetCreateError', `Failed to create new replica set: ${createError}`);
  if (!hasDeadline(deployment)) return [];
  if (deployment.spec.paused === true) return fact('Unknown', 'DeploymentPaused', 'Deployment is paused');
  if (condition?.reason === 'DeploymentPaused')
    return fact('Unknown', 'DeploymentResumed', 'Deployment is resumed');
  if (created !== undefined)
    return fact('True', 'NewReplicaSetCreated', `Created new replica set "${created}"`);
  const subject =
    newSet === undefined
      ? `Deployment "${deployment.metadata.name}"`
      : `ReplicaSet "${newSet.metadata.name}"`;
  const isOver = next.replicas === next.updatedReplicas && condition?.reason === 'NewReplicaSetAvailable';
  if (isOver) return undefined;
  if (isComplete(deployment, next))
    return fact('True', 'NewReplicaSetAvailable', `${subject} has successfully progressed.`);
  if (hasProgressed(deployment.status ?? {}, next))
    return fact('True', 'ReplicaSetUpdated', `${subject} is progressing.`, true);
  if (condition === undefined && newSet !== undefined)
    return fact('True', 'FoundNewReplicaSet', `Found new replica set "${newSet.metadata.name}"`);
  if (isTimedOut(input))
    return fact('False', 'ProgressDeadlineExceeded', `${subject} has timed out progressing.`);
  return undefined;
}

function progressCondition({ status }: Deployment): WorkloadCondition | undefined {
  return status?.conditions?.find(({ type }) => type === 'Progressing');
}

/** Every pod is of the current template and available, and none is left over. */
export function isComplete(deployment: Deployment, status: DeploymentStatus): boolean {
  const { replicas } = rolloutBounds(deployment);
  return (
    status.updatedReplicas === replicas &&
    status.replicas === replicas &&
    status.availableReplicas === replicas &&
    (status.observedGeneration ?? 0) >= (deployment.metadata.generation ?? 0)
  );
}

function hasProgressed(before: DeploymentStatus, now: DeploymentStatus): boolean {
  const old = ({ replicas = 0, updatedReplicas = 0 }: DeploymentStatus): number => replicas - updatedReplicas;
  return (
    (now.updatedReplicas ?? 0) > (before.updatedReplicas ?? 0) ||
    old(now) < old(before) ||
    (now.readyReplicas ?? 0) > (before.readyReplicas ?? 0) ||
    (now.availableReplicas ?? 0) > (before.availableReplicas ?? 0)
  );
}

/** How long until the rollout counts as stuck; undefined when no deadline runs. */
export function untilTimeoutMs(deployment: Deployment, nowMs: number): number | undefined {
  const condition = progressCondition(deployment);
  const isRunning = condition?.status === 'True' || condition?.reason === 'DeploymentResumed';
  if (!hasDeadline(deployment) || deployment.spec.paused === true) return undefined;
  if (condition === undefined || !isRunning || condition.reason === 'NewReplicaSetAvailable')
    return undefined;
  const sinceMs = timeMs(condition.lastUpdateTime) ?? timeMs(condition.lastTransitionTime) ?? nowMs;
  return sinceMs + (deployment.spec.progressDeadlineSeconds ?? 600) * 1000 - nowMs;
}

function isTimedOut({ deployment, nowMs }: DeploymentStatusInput): boolean {
  if (progressCondition(deployment)?.reason === 'ProgressDeadlineExceeded') return true;
  const leftMs = untilTimeoutMs(deployment, nowMs);
  return leftMs !== undefined && leftMs < 0;
}
