/** Decides whether a Job has come to its end, and how. */
import type { Job, Pod, WorkloadCondition } from '../../kube/index.js';
import { mostRestarts, timeMs } from '../pods/pod-facts.js';
import { parseIndexes } from './index-ranges.js';
import type { JobAccount } from './job-account.js';
import { isIndexed } from './job-pods.js';

export interface JobVerdict {
  readonly outcome: 'Complete' | 'Failed';
  readonly reason: string;
  readonly message: string;
}

export interface JobVerdictInput {
  readonly job: Job;
  readonly account: JobAccount;
  readonly active: readonly Pod[];
  readonly nowMs: number;
}

export function conditionOfJob({ status }: Job, type: string): WorkloadCondition | undefined {
  return status?.conditions?.find((one) => one.type === type && one.status === 'True');
}

/** Its end is over: nothing of it changes any more. */
export function isJobFinished(job: Job): boolean {
  return conditionOfJob(job, 'Complete') !== undefined || conditionOfJob(job, 'Failed') !== undefined;
}

/** When the Job fails for its deadline; undefined when none runs. */
export function deadlineMs({ spec, status }: Job): number | undefined {
  const startMs = timeMs(status?.startTime);
  if (spec.activeDeadlineSeconds === undefined || startMs === undefined || spec.suspend === true)
    return undefined;
  return startMs + spec.activeDeadlineSeconds * 1000;
}

/** Undefined while the Job goes on. */
export function jobVerdict(input: JobVerdictInput): JobVerdict | undefined {
  const { job, account, active, nowMs } = input;
  // A verdict stands: its pods only have to end.
  const doomed = conditionOfJob(job, 'FailureTarget');
  if (doomed !== undefined)
    return { outcome: 'Failed', reason: doomed.reason ?? '', message: doomed.message ?? '' };
  const met = conditionOfJob(job, 'SuccessCriteriaMet');
  if (met !== undefined) return { outcome: 'Complete', reason: met.reason ?? '', message: met.message ?? '' };
  const failed = failure(input);
  if (failed !== undefined) return { outcome: 'Failed', ...failed };
  const rule = matchedRule(job, account);
  if (rule !== undefined)
    return { outcome: 'Complete', reason: 'SuccessPolicy', message: `Matched rules at index ${rule}` };
  const dueMs = deadlineMs(job);
  if (dueMs !== undefined && dueMs <= nowMs)
    return {
      outcome: 'Failed',
      reason: 'DeadlineExceeded',
      message: 'Job was active longer than specified deadline',
    };
  const { completions } = job.spec;
  const succeeded = successes(job, account);
  const isDone = completions === undefined ? succeeded > 0 && active.length === 0 : succeeded >= completions;
  return isDone && job.spec.suspend !== true
    ? {
        outcome: 'Complete',
        reason: 'CompletionsReached',
        message: 'Reached expected number of succeeded pods',
      }
    : undefined;
}

export function successes(job: Job, account: JobAccount): number {
  return isIndexed(job)
    ? account.completedIndexes.size
    : account.succeeded + account.uncounted.succeeded.length;
}

export function failures({ failed, uncounted }: JobAccount): number {
  return failed + uncounted.failed.length;
}

function failure({ job, account, active }: JobVerdictInput): Omit<JobVerdict, 'outcome'> | undefined {
  const { spec } = job;
  if (account.failJob !== undefined) return { reason: 'PodFailurePolicy', message: account.failJob };
  const isPerIndex = isIndexed(job) && spec.backoffLimitPerIndex !== undefined;
  const limit = spec.backoffLimit ?? (isPerIndex ? Number.POSITIVE_INFINITY : 6);
  const tooMany = { reason: 'BackoffLimitExceeded', message: 'Job has reached the specified backoff limit' };
  if (failures(account) > limit) return tooMany;
  if (spec.template.spec.restartPolicy === 'OnFailure') {
    const restarts = active.reduce((sum, pod) => sum + mostRestarts(pod), 0);
    if (limit === 0 ? restarts > 0 : restarts >= limit) return tooMany;
  }
  if (!isPerIndex) return undefined;
  const failedIndexes = account.failedIndexes.size;
  if (spec.maxFailedIndexes !== undefined && failedIndexes > spec.maxFailedIndexes)
    return {
      reason: 'MaxFailedIndexesExceeded',
      message: 'Job has exceeded the specified maximal number of failed indexes',
    };
  const isOver = failedIndexes + account.completedIndexes.size >= (spec.completions ?? 0);
  return failedIndexes > 0 && isOver
    ? { reason: 'FailedIndexes', message: 'Job has failed indexes' }
    : undefined;
}

/** The first rule of the success policy that holds. */
function matchedRule(job: Job, { completedIndexes }: JobAccount): number | undefined {
  const rules = isIndexed(job) ? (job.spec.successPolicy?.rules ?? []) : [];
  const found = rules.findIndex(({ succeededIndexes, succeededCount }) => {
    const wanted =
      succeededIndexes === undefined ? undefined : parseIndexes(succeededIndexes, job.spec.completions ?? 0);
    const done =
      wanted === undefined
        ? completedIndexes.size
        : [...wanted].filter((one) => completedIndexes.has(one)).length;
    return done >= (succeededCount ?? wanted?.size ?? Number.POSITIVE_INFINITY);
  });
  return found < 0 ? undefined : found;
}
