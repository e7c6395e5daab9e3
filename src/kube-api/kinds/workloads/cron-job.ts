/** Cron jobs: when they run, and the template of the jobs that they make. */
import {
  type FieldError,
  FieldErrors,
  LazyFieldPath,
} from '../../../kube/manifests/validation/field-errors.js';
import type { CronJob } from '../../../kube/types/index.js';
import { resources } from '../../../kube-client/resources.js';
import { served } from '../served-kind.js';
import { validateCounts } from './amounts.js';
import { scheduleProblem } from './cron-schedule.js';
import { applyJobTemplateDefaults, jobSpecErrors } from './job.js';

/** Its jobs are named after it, with eleven characters more. */
const longestName = 52;

export const cronJobKind = served<CronJob>({
  resource: resources.cronJobs,
  singular: 'cronjob',
  shortNames: ['cj'],
  categories: ['all'],
  subresources: ['status'],
  countsGenerations: true,
  defaults: ({ spec }) => {
    spec.concurrencyPolicy ||= 'Allow';
    spec.suspend ??= false;
    spec.successfulJobsHistoryLimit ??= 3;
    spec.failedJobsHistoryLimit ??= 1;
    applyJobTemplateDefaults(spec.jobTemplate.spec);
  },
  admit: (cronJob) => {
    cronJob.status = {};
  },
  validate,
});

function validate({ spec, metadata }: CronJob): readonly FieldError[] {
  const errors = new FieldErrors();
  const field = LazyFieldPath.root('spec');
  if ((metadata.name ?? '').length > longestName)
    errors.invalid(
      LazyFieldPath.root('metadata').child('name'),
      metadata.name,
      `must be no more than ${longestName} characters`,
    );
  validateSchedule(spec.schedule, field.child('schedule'), errors);
  if (spec.timeZone !== undefined) validateTimeZone(spec.timeZone, field.child('timeZone'), errors);
  validateCounts(
    spec,
    ['startingDeadlineSeconds', 'successfulJobsHistoryLimit', 'failedJobsHistoryLimit'],
    field,
    errors,
  );
  errors.requiredOneOf(field.child('concurrencyPolicy'), spec.concurrencyPolicy, [
    'Allow',
    'Forbid',
    'Replace',
  ]);
  const job = spec.jobTemplate.spec;
  const at = field.child('jobTemplate').child('spec');
  if (job.manualSelector === true) errors.unsupported(at.child('manualSelector'), true, ['nil', 'false']);
  return [...errors.list, ...jobSpecErrors(job, at, ['spec', 'jobTemplate', 'spec'])];
}

function validateSchedule(schedule: string | undefined, field: LazyFieldPath, errors: FieldErrors): void {
  if (!schedule) {
    errors.required(field);
    return;
  }
  if (schedule.includes('TZ')) {
    errors.invalid(field, schedule, 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead');
    return;
  }
  const problem = scheduleProblem(schedule);
  if (problem !== undefined) errors.invalid(field, schedule, problem);
}

function validateTimeZone(zone: string, field: LazyFieldPath, errors: FieldErrors): void {
  if (zone === '') errors.invalid(field, zone, 'timeZone must be nil or non-empty string');
  else if (zone.toLowerCase() === 'local')
    errors.invalid(
      field,
      zone,
      'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones',
    );
  else if (!isTimeZone(zone)) errors.invalid(field, zone, `unknown time zone ${zone}`);
}

function isTimeZone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}
