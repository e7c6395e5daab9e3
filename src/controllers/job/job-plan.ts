/** Decides which pods of a Job to make and to delete. */
import type { Job, Pod } from '../../kube/index.js';
import { controllerLimits } from '../limits.js';
import { createdMs, isReady, timeMs } from '../pods/pod-facts.js';
import type { JobAccount } from './job-account.js';
import {
  failuresBefore,
  indexOf,
  isIndexed,
  isLeaving,
  jobPodState,
  replacesOnlyEnded,
  type WantedJobPod,
} from './job-pods.js';
import { type JobVerdict, successes } from './job-verdict.js';

/** Failures since the last success, for the pause before the next pod. */
export interface JobFailures {
  readonly count: number;
  readonly lastMs: number;
}

export interface JobPlan {
  readonly create: readonly WantedJobPod[];
  readonly delete: readonly Pod[];
  /** When a pause ends after which pods are made. */
  readonly againAtMs?: number;
}

export interface JobPlanInput {
  readonly job: Job;
  readonly pods: readonly Pod[];
  readonly account: JobAccount;
  readonly verdict: JobVerdict | undefined;
  readonly failures: JobFailures | undefined;
  readonly nowMs: number;
}

const firstPauseMs = 10_000;
const longestPauseMs = 600_000;

export function planJob(input: JobPlanInput): JobPlan {
  const { job, pods, verdict, account } = input;
  const active = pods.filter((pod) => jobPodState(job, pod) === 'active');
  const { parallelism = 1, completions, suspend } = job.spec;
  if (verdict !== undefined || suspend === true) return { create: [], delete: active };
  const useless = isIndexed(job) ? uselessPods(active, account, completions ?? 0) : [];
  const useful = active.filter((pod) => !useless.includes(pod));
  const succeeded = successes(job, account);
  const wanted =
    completions === undefined
      ? succeeded > 0
        ? useful.length
        : parallelism
      : Math.max(
          0,
          Math.min(parallelism, completions - succeeded - (isIndexed(job) ? account.failedIndexes.size : 0)),
        );
  if (useful.length > wanted)
    return { create: [], delete: [...useless, ...leastUseful(useful, useful.length - wanted)] };
  // A pod on its way out keeps its place where only ended pods are replaced.
  const leaving = replacesOnlyEnded(job) ? pods.filter(isLeaving) : [];
  const missing = Math.min(wanted - useful.length - leaving.length, controllerLimits.podsPerStep);
  if (missing <= 0) return { create: [], delete: useless };
  return { ...newPods(input, missing, [...useful, ...leaving]), delete: useless };
}

function newPods(input: JobPlanInput, missing: number, present: readonly Pod[]): Omit<JobPlan, 'delete'> {
  const { job, failures, nowMs, account } = input;
  const isPerIndex = isIndexed(job) && job.spec.backoffLimitPerIndex !== undefined;
  if (!isPerIndex) {
    const untilMs = failures === undefined ? 0 : failures.lastMs + pauseMs(failures.count);
    if (untilMs > nowMs) return { create: [], againAtMs: untilMs };
  }
  if (!isIndexed(job)) return { create: Array.from({ length: missing }, () => ({})) };
  const taken = new Set(present.map(indexOf));
  const create: WantedJobPod[] = [];
  let againAtMs: number | undefined;
  for (let index = 0; index < (job.spec.completions ?? 0) && create.length < missing; index++) {
    if (taken.has(index) || account.completedIndexes.has(index) || account.failedIndexes.has(index)) continue;
    if (!isPerIndex) {
      create.push({ index });
      continue;
    }
    const last = lastFailure(input, index);
    const untilMs = last === undefined ? 0 : last.endMs + pauseMs(last.failures);
    if (untilMs <= nowMs) create.push({ index, failures: last?.failures ?? 0 });
    else againAtMs = Math.min(againAtMs ?? untilMs, untilMs);
  }
  return { create, ...(againAtMs === undefined ? {} : { againAtMs }) };
}

function pauseMs(failures: number): number {
  return failures <= 0 ? 0 : Math.min(firstPauseMs * 2 ** Math.min(failures - 1, 20), longestPauseMs);
}

/** The failures of an index, by the newest of its failed pods. */
function lastFailure(
  { job, pods, nowMs }: JobPlanInput,
  index: number,
): { failures: number; endMs: number } | undefined {
  const failed = pods.filter((pod) => indexOf(pod) === index && jobPodState(job, pod) === 'failed');
  if (failed.length === 0) return undefined;
  return {
    failures: Math.max(...failed.map((pod) => failuresBefore(pod) + 1)),
    endMs: Math.max(...failed.map((pod) => finishedMs(pod) ?? nowMs)),
  };
}

/** When the last container of the pod ended; undefined when nobody wrote it down. */
export function finishedMs({ status, metadata }: Pod): number | undefined {
  const ends = (status?.containerStatuses ?? []).flatMap(
    ({ state }) => timeMs(state?.terminated?.finishedAt) ?? [],
  );
  return ends.length > 0 ? Math.max(...ends) : timeMs(metadata.deletionTimestamp);
}

/** Pods without a place: no index, one that is done, one beyond the last, or a second pod of an index. */
function uselessPods(active: readonly Pod[], account: JobAccount, completions: number): Pod[] {
  const seen = new Set<number>();
  return [...active]
    .sort((a, b) => createdMs(a) - createdMs(b))
    .filter((pod) => {
      const index = indexOf(pod);
      if (index === undefined || index >= completions || account.completedIndexes.has(index)) return true;
      if (account.failedIndexes.has(index) || seen.has(index)) return true;
      seen.add(index);
      return false;
    });
}

/** Pods that are not ready go first, then the newest. */
function leastUseful(active: readonly Pod[], count: number): Pod[] {
  return [...active]
    .sort((a, b) => Number(isReady(a)) - Number(isReady(b)) || createdMs(b) - createdMs(a))
    .slice(0, count);
}
