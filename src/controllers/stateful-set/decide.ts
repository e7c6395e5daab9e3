/** Decides the next steps of a StatefulSet: pods are made in order, removed in reverse order, and replaced one by one. */
import type { Pod, StatefulSet } from '../../kube/index.js';
import { intOrPercent } from '../pods/int-or-percent.js';
import { isAvailable, isFinished, isReady } from '../pods/pod-facts.js';
import { ordinalOf, revisionOfPod } from './stateful-pod.js';

export type StatefulStep =
  | { readonly kind: 'create'; readonly ordinal: number; readonly revision: string }
  /** `because` says what is told of it. */
  | { readonly kind: 'delete'; readonly pod: Pod; readonly because: 'ended' | 'scaled' | 'updated' };

export interface StatefulInput {
  readonly set: StatefulSet;
  readonly pods: readonly Pod[];
  /** The names of the revisions. */
  readonly currentRevision: string;
  readonly updateRevision: string;
  readonly nowMs: number;
}

export function ordinalRange({ spec }: StatefulSet): { readonly start: number; readonly end: number } {
  const start = spec.ordinals?.start ?? 0;
  return { start, end: start + (spec.replicas ?? 1) };
}

export function isOrdered({ spec }: StatefulSet): boolean {
  return spec.podManagementPolicy !== 'Parallel';
}

export function isCondemned(set: StatefulSet, pod: Pod): boolean {
  const { start, end } = ordinalRange(set);
  const ordinal = ordinalOf(set, pod) ?? -1;
  return ordinal < start || ordinal >= end;
}

function partitionEnd(set: StatefulSet): number {
  const { rollingUpdate } = set.spec.updateStrategy ?? {};
  return ordinalRange(set).start + (rollingUpdate?.partition ?? 0);
}

function isLeavingPod({ metadata }: Pod): boolean {
  return metadata.deletionTimestamp !== undefined;
}

export function decideStateful(input: StatefulInput): StatefulStep[] {
  const { set, pods, nowMs } = input;
  if (set.metadata.deletionTimestamp !== undefined) return [];
  const byOrdinal = new Map(pods.map((pod) => [ordinalOf(set, pod), pod]));
  const isWell = (pod: Pod): boolean =>
    !isLeavingPod(pod) && isReady(pod) && isAvailable(pod, set.spec.minReadySeconds ?? 0, nowMs);
  const isStrict = isOrdered(set);
  const { start, end } = ordinalRange(set);
  const steps: StatefulStep[] = [];
  for (let ordinal = start; ordinal < end; ordinal++) {
    const pod = byOrdinal.get(ordinal);
    if (pod === undefined) steps.push({ kind: 'create', ordinal, revision: revisionFor(input, ordinal) });
    else if (isFinished(pod) && !isLeavingPod(pod)) steps.push({ kind: 'delete', pod, because: 'ended' });
    // In order: nothing more happens until this pod is well.
    if (isStrict && (steps.length > 0 || pod === undefined || !isWell(pod)))
      return steps.length > 0 ? steps : unwell(input, pod);
  }
  const condemned = pods
    .filter((pod) => isCondemned(set, pod))
    .sort((a, b) => (ordinalOf(set, b) ?? 0) - (ordinalOf(set, a) ?? 0));
  const firstUnwell = [...pods]
    .sort((a, b) => (ordinalOf(set, a) ?? 0) - (ordinalOf(set, b) ?? 0))
    .find((pod) => !isWell(pod));
  for (const pod of condemned) {
    if (isLeavingPod(pod)) {
      if (isStrict) return steps;
      continue;
    }
    if (isStrict && !isWell(pod) && pod !== firstUnwell) return steps;
    steps.push({ kind: 'delete', pod, because: 'scaled' });
    if (isStrict) return steps;
  }
  return [...steps, ...updates(input, isWell)];
}

/** A pod of an old revision that never became well is replaced, or a broken rollout could not be mended. */
function unwell(input: StatefulInput, pod: Pod | undefined): StatefulStep[] {
  if (pod === undefined || isLeavingPod(pod) || isReady(pod)) return [];
  const { set } = input;
  const { start, end } = ordinalRange(set);
  const later = input.pods.some((other) => {
    const ordinal = ordinalOf(set, other) ?? -1;
    return ordinal > (ordinalOf(set, pod) ?? start) && ordinal < end;
  });
  // While later pods exist, the rollout goes from the last to the first and comes here in its turn.
  return later || !isOutdated(input, pod) ? [] : [{ kind: 'delete', pod, because: 'updated' }];
}

function isOutdated({ set, updateRevision }: StatefulInput, pod: Pod): boolean {
  return (
    set.spec.updateStrategy?.type !== 'OnDelete' &&
    (ordinalOf(set, pod) ?? -1) >= partitionEnd(set) &&
    revisionOfPod(pod) !== updateRevision
  );
}

/** From the last pod to the partition: as many at a time as may be missing. */
function updates(input: StatefulInput, isWell: (pod: Pod) => boolean): StatefulStep[] {
  const { set, pods } = input;
  const replicas = set.spec.replicas ?? 1;
  const { maxUnavailable } = set.spec.updateStrategy?.rollingUpdate ?? {};
  const most = Math.max(1, intOrPercent(maxUnavailable, replicas, 'up', 1));
  const present = pods
    .filter((pod) => !isCondemned(set, pod))
    .sort((a, b) => (ordinalOf(set, b) ?? 0) - (ordinalOf(set, a) ?? 0));
  const steps: StatefulStep[] = [];
  let missing = replicas - present.length;
  for (const pod of present) {
    if (missing >= most) return steps;
    if (isOutdated(input, pod) && !isLeavingPod(pod)) {
      steps.push({ kind: 'delete', pod, because: 'updated' });
      missing++;
    } else if (!isWell(pod)) missing++;
  }
  return steps;
}

/** Below the partition the former revision stays. */
function revisionFor({ set, currentRevision, updateRevision }: StatefulInput, ordinal: number): string {
  const isRolling = set.spec.updateStrategy?.type !== 'OnDelete';
  return isRolling && ordinal < partitionEnd(set) ? currentRevision : updateRevision;
}

export type StatefulSetStatus = NonNullable<StatefulSet['status']>;

export function statefulStatus(input: StatefulInput, collisionCount: number | undefined): StatefulSetStatus {
  const { set, pods, currentRevision, updateRevision, nowMs } = input;
  const made = pods.filter((pod) => ordinalOf(set, pod) !== undefined);
  const staying = made.filter((pod) => !isLeavingPod(pod));
  const count = (test: (pod: Pod) => boolean): number => staying.filter(test).length;
  const { generation } = set.metadata;
  const updated = count((pod) => revisionOfPod(pod) === updateRevision);
  const ready = count(isReady);
  const isDone =
    set.spec.updateStrategy?.type !== 'OnDelete' &&
    made.length === updated &&
    ready === made.length &&
    made.length === (set.spec.replicas ?? 1);
  const current = isDone ? updated : count((pod) => revisionOfPod(pod) === currentRevision);
  return {
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    replicas: made.length,
    readyReplicas: ready,
    availableReplicas: count((pod) => isAvailable(pod, set.spec.minReadySeconds ?? 0, nowMs)),
    currentReplicas: current,
    updatedReplicas: updated,
    currentRevision: isDone ? updateRevision : currentRevision,
    updateRevision,
    collisionCount: collisionCount ?? 0,
    ...(set.status?.conditions === undefined ? {} : { conditions: set.status.conditions }),
  };
}
