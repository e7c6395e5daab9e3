/** Decides the status of a Job, and what users are told of its changes. */
import { formatTimestamp, type Job, type Pod, type WorkloadCondition } from '../../kube/index.js';
import { isReady } from '../pods/pod-facts.js';
import { formatIndexes } from './index-ranges.js';
import type { JobAccount } from './job-account.js';
import { isIndexed, isLeaving, jobPodState } from './job-pods.js';
import { conditionOfJob, type JobVerdict } from './job-verdict.js';

export type JobStatus = NonNullable<Job['status']>;

export interface JobStatusInput {
  readonly job: Job;
  readonly pods: readonly Pod[];
  readonly account: JobAccount;
  readonly verdict: JobVerdict | undefined;
  readonly nowMs: number;
}

export interface JobNews {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

export function jobStatus(input: JobStatusInput): {
  readonly status: JobStatus;
  readonly news: readonly JobNews[];
} {
  const { job, pods, account, verdict, nowMs } = input;
  const now = formatTimestamp(nowMs);
  const active = pods.filter((pod) => jobPodState(job, pod) === 'active');
  const terminating = pods.filter(isLeaving).length;
  const isSuspended = job.spec.suspend === true && verdict === undefined;
  const news: JobNews[] = [];
  let conditions = [...(job.status?.conditions ?? [])];
  const set = (type: string, status: 'True' | 'False', reason: string, message: string): void => {
    const known = conditions.find((one) => one.type === type);
    if (known?.status === status) return;
    const condition: WorkloadCondition = {
      type,
      status,
      lastProbeTime: now,
      lastTransitionTime: now,
      reason,
      message,
    };
    conditions = [...conditions.filter((one) => one.type !== type), condition];
  };
  const wasSuspended = conditionOfJob(job, 'Suspended') !== undefined;
  if (isSuspended && !wasSuspended) {
    set('Suspended', 'True', 'JobSuspended', 'Job suspended');
    news.push({ type: 'Normal', reason: 'Suspended', message: 'Job suspended' });
  } else if (!isSuspended && wasSuspended && verdict === undefined) {
    set('Suspended', 'False', 'JobResumed', 'Job resumed');
    news.push({ type: 'Normal', reason: 'Resumed', message: 'Job resumed' });
  }
  let completionTime: string | undefined;
  if (verdict !== undefined) {
    const { outcome, reason, message } = verdict;
    set(outcome === 'Failed' ? 'FailureTarget' : 'SuccessCriteriaMet', 'True', reason, message);
    // The last word waits until every pod has ended and is counted.
    const isOver =
      active.length + terminating + account.uncounted.succeeded.length + account.uncounted.failed.length ===
      0;
    if (isOver && account.release.length === 0) {
      set(outcome, 'True', reason, message);
      if (outcome === 'Complete') completionTime = now;
      news.push(
        outcome === 'Complete'
          ? { type: 'Normal', reason: 'Completed', message: 'Job completed' }
          : { type: 'Warning', reason, message },
      );
    }
  }
  // A Job that goes on after a pause counts its time anew.
  const startTime = isSuspended
    ? undefined
    : wasSuspended || job.status?.startTime === undefined
      ? now
      : job.status.startTime;
  const { uncounted } = account;
  const hasUncounted = uncounted.succeeded.length + uncounted.failed.length > 0;
  const completed = formatIndexes(account.completedIndexes);
  const status: JobStatus = {
    ...(conditions.length === 0 ? {} : { conditions }),
    ...(startTime === undefined ? {} : { startTime }),
    ...(completionTime === undefined ? {} : { completionTime }),
    active: active.length,
    ready: active.filter(isReady).length,
    terminating,
    succeeded: account.succeeded,
    failed: account.failed,
    ...(isIndexed(job) ? { completedIndexes: completed } : {}),
    ...(isIndexed(job) && job.spec.backoffLimitPerIndex !== undefined
      ? { failedIndexes: formatIndexes(account.failedIndexes) }
      : {}),
    uncountedTerminatedPods: hasUncounted
      ? { succeeded: [...uncounted.succeeded], failed: [...uncounted.failed] }
      : {},
  };
  return { status, news };
}
