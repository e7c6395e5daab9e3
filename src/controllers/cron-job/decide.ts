/** Decides whether a CronJob starts a Job now, which Jobs it ends, and which it forgets. */
import { type CronJob, formatTimestamp, type Job } from '../../kube/index.js';
import { conditionOfJob, isJobFinished } from '../job/job-verdict.js';
import { createdMs, timeMs } from '../pods/pod-facts.js';
import { type CronSchedule, lastTime, nextTime } from './schedule.js';

export const scheduledAnnotation = 'batch.kubernetes.io/cronjob-scheduled-timestamp';

export interface CronInput {
  readonly cronJob: CronJob;
  readonly schedule: CronSchedule;
  /** The Jobs that it controls. */
  readonly jobs: readonly Job[];
  readonly nowMs: number;
}

export interface CronDecision {
  /** The moment for which a Job is started. */
  readonly startMs?: number;
  /** Running Jobs that the new one replaces. */
  readonly replace: readonly Job[];
  /** Why a moment passes without a Job. */
  readonly skipped?: { readonly reason: string; readonly message: string };
  readonly nextMs?: number | undefined;
}

export function decideCron({ cronJob, schedule, jobs, nowMs }: CronInput): CronDecision {
  const { spec, status, metadata } = cronJob;
  const { timeZone = 'UTC', startingDeadlineSeconds, concurrencyPolicy = 'Allow' } = spec;
  if (spec.suspend === true || metadata.deletionTimestamp !== undefined) return { replace: [] };
  const nextMs = nextTime(schedule, nowMs, timeZone);
  const sinceMs = timeMs(status?.lastScheduleTime) ?? timeMs(metadata.creationTimestamp) ?? nowMs;
  const dueMs = lastTime(schedule, sinceMs, nowMs, timeZone);
  if (dueMs === undefined || dueMs <= (timeMs(status?.lastScheduleTime) ?? 0)) return { replace: [], nextMs };
  // The copy of the CronJob may be older than the Job that was started for this moment.
  const isStarted = jobs.some(
    (job) => job.metadata.annotations?.[scheduledAnnotation] === formatTimestamp(dueMs),
  );
  if (isStarted) return { replace: [], nextMs };
  const at = new Date(dueMs).toUTCString();
  if (startingDeadlineSeconds !== undefined && dueMs + startingDeadlineSeconds * 1000 < nowMs) {
    const skipped = { reason: 'MissSchedule', message: `Missed scheduled time to start a job: ${at}` };
    return { replace: [], nextMs, skipped };
  }
  const running = jobs.filter((job) => !isJobFinished(job) && job.metadata.deletionTimestamp === undefined);
  if (concurrencyPolicy === 'Forbid' && running.length > 0) {
    const message = 'Not starting job because prior execution is running and concurrency policy is Forbid';
    return { replace: [], nextMs, skipped: { reason: 'JobAlreadyActive', message } };
  }
  return { startMs: dueMs, replace: concurrencyPolicy === 'Replace' ? running : [], nextMs };
}

/** Finished Jobs beyond the history that is kept, the oldest first. */
export function expiredJobs({ spec }: CronJob, jobs: readonly Job[]): Job[] {
  const beyond = (type: string, limit: number): Job[] => {
    const ended = jobs.filter((job) => conditionOfJob(job, type) !== undefined);
    const byAge = ended.sort(
      (a, b) => createdMs(a) - createdMs(b) || ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1),
    );
    return byAge.slice(0, Math.max(0, byAge.length - limit));
  };
  return [
    ...beyond('Complete', spec.successfulJobsHistoryLimit ?? 3),
    ...beyond('Failed', spec.failedJobsHistoryLimit ?? 1),
  ];
}
