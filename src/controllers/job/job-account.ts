/**
 * Counts the ended pods of a Job, each exactly once: first a pod's UID is written to the status, then the pod loses its
 * finalizer, and only then its UID becomes a count.
 */
import type { Job, Pod } from '../../kube/index.js';
import { controllerLimits } from '../limits.js';
import { parseIndexes } from './index-ranges.js';
import { failuresBefore, indexOf, isIndexed, isTracked, jobPodState } from './job-pods.js';
import { podFailure } from './pod-failure-policy.js';

export interface JobAccount {
  /** Counted for good. */
  readonly succeeded: number;
  readonly failed: number;
  /** UIDs of pods whose finalizer goes once the status is written. */
  readonly uncounted: { readonly succeeded: readonly string[]; readonly failed: readonly string[] };
  readonly completedIndexes: ReadonlySet<number>;
  readonly failedIndexes: ReadonlySet<number>;
  /** Pods to take the finalizer from, after the status is written. */
  readonly release: readonly Pod[];
  /** Pods whose failure is new. */
  readonly newFailures: readonly Pod[];
  readonly hasNewSuccess: boolean;
  /** Why a rule ends the whole Job. */
  readonly failJob?: string;
}

export interface JobAccountInput {
  readonly job: Job;
  readonly pods: readonly Pod[];
  /** Pods whose finalizer was removed though the copy still shows it. */
  readonly released: (uid: string) => boolean;
}

export function accountJob({ job, pods, released }: JobAccountInput): JobAccount {
  const { status = {}, spec } = job;
  const limit = spec.completions ?? 0;
  const completed = parseIndexes(status.completedIndexes, limit);
  const failedIndexes = parseIndexes(status.failedIndexes, limit);
  const tracked = new Map(
    pods.filter((pod) => isTracked(pod) && !released(pod.metadata.uid)).map((pod) => [pod.metadata.uid, pod]),
  );
  const known = status.uncountedTerminatedPods ?? {};
  const succeeded: string[] = [];
  const failed: string[] = [];
  const counts = { succeeded: status.succeeded ?? 0, failed: status.failed ?? 0 };
  const release: Pod[] = [];
  const split = (
    uids: readonly string[] | undefined,
    waiting: string[],
    kind: 'succeeded' | 'failed',
  ): void => {
    for (const uid of uids ?? []) {
      const pod = tracked.get(uid);
      if (pod === undefined) counts[kind]++;
      else {
        waiting.push(uid);
        release.push(pod);
      }
    }
  };
  split(known.succeeded, succeeded, 'succeeded');
  split(known.failed, failed, 'failed');
  const newFailures: Pod[] = [];
  let hasNewSuccess = false;
  let failJob: string | undefined;
  for (const pod of tracked.values()) {
    const { uid } = pod.metadata;
    if (succeeded.includes(uid) || failed.includes(uid)) continue;
    const state = jobPodState(job, pod);
    if (state !== 'succeeded' && state !== 'failed') continue;
    if (release.length >= controllerLimits.podsPerStep) break;
    release.push(pod);
    if (state === 'succeeded') {
      hasNewSuccess = true;
      const index = indexOf(pod);
      // A second success of an index is no second completion.
      if (!isIndexed(job)) succeeded.push(uid);
      else if (index !== undefined && index < limit) completed.add(index);
      continue;
    }
    // What a suspended Job ends itself is no failure.
    if (spec.suspend === true && pod.metadata.deletionTimestamp !== undefined) continue;
    const failure = podFailure(job, pod);
    if (failure.action === 'Ignore') continue;
    failed.push(uid);
    newFailures.push(pod);
    if (failure.action === 'FailJob') failJob ??= failure.message;
    noteIndexFailure(job, pod, failure.action === 'FailIndex', completed, failedIndexes);
  }
  return {
    ...counts,
    ...(isIndexed(job) ? { succeeded: completed.size } : {}),
    uncounted: { succeeded, failed },
    completedIndexes: completed,
    failedIndexes,
    release,
    newFailures,
    hasNewSuccess,
    ...(failJob === undefined ? {} : { failJob }),
  };
}

function noteIndexFailure(
  job: Job,
  pod: Pod,
  failsIndex: boolean,
  completed: ReadonlySet<number>,
  failedIndexes: Set<number>,
): void {
  const { backoffLimitPerIndex } = job.spec;
  const index = indexOf(pod);
  if (!isIndexed(job) || backoffLimitPerIndex === undefined || index === undefined || completed.has(index))
    return;
  if (failsIndex || failuresBefore(pod) + 1 > backoffLimitPerIndex) failedIndexes.add(index);
}
