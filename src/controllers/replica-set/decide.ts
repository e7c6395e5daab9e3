/** Decides what a ReplicaSet needs: pods to create or to delete, and its status. */
import type { Pod, ReplicaSet, WorkloadCondition } from '../../kube/index.js';
import { formatTimestamp, semanticEqual } from '../../kube/index.js';
import { controllerLimits } from '../limits.js';
import { isAvailable, isReady } from '../pods/pod-facts.js';
import { inDeletionOrder } from './deletion-rank.js';

export type ReplicaStep =
  | { readonly kind: 'none' }
  | { readonly kind: 'create'; readonly count: number }
  | { readonly kind: 'delete'; readonly pods: readonly Pod[] };

/** `active` are the pods of the set that count. */
export function decideReplicas({ spec }: ReplicaSet, active: readonly Pod[]): ReplicaStep {
  const missing = (spec.replicas ?? 1) - active.length;
  if (missing === 0) return { kind: 'none' };
  const count = Math.min(Math.abs(missing), controllerLimits.podsPerStep);
  return missing > 0
    ? { kind: 'create', count }
    : { kind: 'delete', pods: inDeletionOrder(active).slice(0, count) };
}

/** Why the last step failed. */
export interface ReplicaFailure {
  readonly reason: 'FailedCreate' | 'FailedDelete';
  readonly message: string;
}

export interface ReplicaSetStatusInput {
  readonly replicaSet: ReplicaSet;
  readonly active: readonly Pod[];
  readonly terminating: number;
  readonly failure: ReplicaFailure | undefined;
  readonly nowMs: number;
}

export type ReplicaSetStatus = NonNullable<ReplicaSet['status']>;

export function replicaSetStatus(input: ReplicaSetStatusInput): ReplicaSetStatus {
  const { replicaSet, active, terminating, nowMs } = input;
  const { spec, metadata, status } = replicaSet;
  const labels = Object.entries(spec.template?.metadata?.labels ?? {});
  const conditions = failureConditions(status?.conditions ?? [], input);
  return {
    replicas: active.length,
    fullyLabeledReplicas: active.filter((pod) =>
      labels.every(([key, value]) => pod.metadata.labels?.[key] === value),
    ).length,
    readyReplicas: active.filter(isReady).length,
    availableReplicas: active.filter((pod) => isAvailable(pod, spec.minReadySeconds ?? 0, nowMs)).length,
    terminatingReplicas: terminating,
    ...(metadata.generation === undefined ? {} : { observedGeneration: metadata.generation }),
    ...(conditions.length === 0 ? {} : { conditions }),
  };
}

function failureConditions(
  current: readonly WorkloadCondition[],
  { failure, nowMs }: ReplicaSetStatusInput,
): WorkloadCondition[] {
  const others = current.filter(({ type }) => type !== 'ReplicaFailure');
  if (failure === undefined) return others;
  const known = current.find(({ type }) => type === 'ReplicaFailure');
  if (known?.reason === failure.reason && known.status === 'True') return [...current];
  return [
    ...others,
    { type: 'ReplicaFailure', status: 'True', lastTransitionTime: formatTimestamp(nowMs), ...failure },
  ];
}

/** Whether the status must be written. */
export function isStatusNew(current: unknown, next: unknown): boolean {
  return !semanticEqual(current, next);
}
