/** Starts the Jobs of CronJobs at their time, and keeps their history short. */
import { errorText } from '../../async/index.js';
import {
  type CronJob,
  clone,
  formatTimestamp,
  type Job,
  type ObjectReference,
  semanticEqual,
} from '../../kube/index.js';
import { isAlreadyExists, isNotFound, resources } from '../../kube-client/index.js';
import { type Controller, type ControllerContext, queueOf } from '../driver/context.js';
import type { KeyOutcome } from '../driver/key-queue.js';
import { keyOf, refOf, refOfKey } from '../driver/kind-cache.js';
import { conditionOfJob, isJobFinished } from '../job/job-verdict.js';
import { controllerOf, controllerReference, isControlledBy } from '../ownership/owner-references.js';
import { isNamespaceTerminating } from '../pods/pod-control.js';
import { timeMs } from '../pods/pod-facts.js';
import { decideCron, expiredJobs, scheduledAnnotation } from './decide.js';
import { isTimeZone, parseSchedule } from './schedule.js';

const component = 'cronjob-controller';
const resource = resources.cronJobs;
/** Looked at a little after the moment, so that it has passed on every clock. */
const slackMs = 100;

type CronStatus = NonNullable<CronJob['status']>;

export function createCronJobController(context: ControllerContext): Controller {
  const { api, clock, caches, events } = context;
  const cronJobs = caches.of(resource);
  const jobs = caches.of(resources.jobs);

  const queue = queueOf(context, { name: 'CronJob', keys: resource, sync });
  jobs.onChange(({ before, after }) => {
    const job = after ?? before;
    const owner = job === undefined ? undefined : controllerOf(job);
    if (owner?.kind === resource.kind)
      queue.add(keyOf({ namespace: job?.metadata.namespace ?? '', name: owner.name }));
  });

  async function sync(key: string, signal: AbortSignal): Promise<KeyOutcome> {
    const cronJob = cronJobs.get(refOfKey(key));
    if (cronJob === undefined) return {};
    const owned = jobs.ownedBy(cronJob.metadata.uid ?? '').filter((job) => isControlledBy(job, cronJob));
    let current = await report(cronJob, observed(cronJob, owned), signal);
    for (const job of expiredJobs(cronJob, owned)) await remove(cronJob, job, signal);
    const schedule = parseSchedule(cronJob.spec.schedule);
    if (schedule.kind === 'problem') {
      tell(cronJob, 'Warning', 'UnparseableSchedule', `unparseable schedule: ${schedule.problem}`);
      return {};
    }
    const { timeZone } = cronJob.spec;
    if (timeZone !== undefined && !isTimeZone(timeZone)) {
      tell(
        cronJob,
        'Warning',
        'UnknownTimeZone',
        `invalid timeZone: ${JSON.stringify(timeZone)}: unknown time zone`,
      );
      return {};
    }
    const nowMs = clock.now();
    const decision = decideCron({ cronJob: current, schedule, jobs: owned, nowMs });
    if (decision.skipped !== undefined) {
      const isMissed = decision.skipped.reason === 'MissSchedule';
      tell(cronJob, isMissed ? 'Warning' : 'Normal', decision.skipped.reason, decision.skipped.message);
    }
    for (const job of decision.replace) await remove(cronJob, job, signal);
    if (decision.startMs !== undefined)
      current = await start(current, decision.startMs, decision.replace, signal);
    const { nextMs } = decision;
    return { againAfterMs: nextMs === undefined ? undefined : nextMs - nowMs + slackMs };
  }

  /** The status with the Jobs that ended, and those that run. */
  function observed(cronJob: CronJob, owned: readonly Job[]): CronStatus {
    const { active = [], ...rest } = cronJob.status ?? {};
    let last = rest.lastSuccessfulTime;
    const kept: ObjectReference[] = [];
    for (const reference of active) {
      const job = owned.find(({ metadata }) => metadata.uid === reference.uid);
      if (job === undefined) {
        if (!jobs.hasSeen(reference.uid ?? '')) kept.push(reference);
        else tell(cronJob, 'Normal', 'MissingJob', `Active job went missing: ${reference.name}`);
      } else if (!isJobFinished(job)) kept.push(reference);
      else {
        const outcome = conditionOfJob(job, 'Complete') === undefined ? 'Failed' : 'Complete';
        tell(
          cronJob,
          'Normal',
          'SawCompletedJob',
          `Saw completed job: ${job.metadata.name}, condition: ${outcome}`,
        );
      }
    }
    for (const { status } of owned) {
      const { completionTime } = status ?? {};
      if (completionTime !== undefined && (timeMs(completionTime) ?? 0) > (timeMs(last) ?? 0))
        last = completionTime;
    }
    return {
      ...rest,
      ...(kept.length === 0 ? {} : { active: kept }),
      ...(last === undefined ? {} : { lastSuccessfulTime: last }),
    };
  }

  async function report(cronJob: CronJob, status: CronStatus, signal: AbortSignal): Promise<CronJob> {
    if (semanticEqual(cronJob.status, status)) return cronJob;
    return api.update(resource, { ...cronJob, status }, { subresource: 'status', signal });
  }

  async function start(
    cronJob: CronJob,
    startMs: number,
    replaced: readonly Job[],
    signal: AbortSignal,
  ): Promise<CronJob> {
    const { name = '', namespace } = cronJob.metadata;
    const { jobTemplate } = cronJob.spec;
    const { labels, annotations } = jobTemplate.metadata ?? {};
    const at = formatTimestamp(startMs);
    const wanted = {
      metadata: {
        // The same moment gives the same name, so that no moment starts two Jobs.
        name: `${name}-${Math.floor(startMs / 60_000)}`,
        ...(namespace === undefined ? {} : { namespace }),
        ...(labels === undefined ? {} : { labels: { ...labels } }),
        annotations: { ...annotations, [scheduledAnnotation]: at },
        ownerReferences: [controllerReference(resource, cronJob)],
      },
      spec: clone(jobTemplate.spec),
    };
    let job: Job;
    try {
      job = await api.create(resources.jobs, wanted, { signal });
      tell(cronJob, 'Normal', 'SuccessfulCreate', `Created job ${job.metadata.name}`);
    } catch (error) {
      if (isNamespaceTerminating(error)) return cronJob;
      if (!isAlreadyExists(error)) {
        tell(cronJob, 'Warning', 'FailedCreate', `Error creating job: ${errorText(error)}`);
        throw error;
      }
      job = await api.get(resources.jobs, refOf(wanted), { signal });
    }
    const gone = replaced.map(({ metadata }) => metadata.uid);
    const active = (cronJob.status?.active ?? []).filter(
      ({ uid }) => !gone.includes(uid) && uid !== job.metadata.uid,
    );
    if (isControlledBy(job, cronJob) && !isJobFinished(job)) {
      const { uid = '', resourceVersion } = job.metadata;
      const reference = { apiVersion: 'batch/v1', kind: 'Job', name: job.metadata.name ?? '', uid };
      active.push({
        ...reference,
        ...(namespace === undefined ? {} : { namespace }),
        ...(resourceVersion === undefined ? {} : { resourceVersion }),
      });
    }
    return report(cronJob, { ...cronJob.status, active, lastScheduleTime: at }, signal);
  }

  async function remove(cronJob: CronJob, job: Job, signal: AbortSignal): Promise<void> {
    if (job.metadata.deletionTimestamp !== undefined) return;
    try {
      await api.delete(resources.jobs, refOf(job), { propagationPolicy: 'Background', signal });
      tell(cronJob, 'Normal', 'SuccessfulDelete', `Deleted job ${job.metadata.name}`);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  function tell(object: CronJob, type: 'Normal' | 'Warning', reason: string, message: string): void {
    events.record({ component, resource, object, type, reason, message });
  }

  return { name: 'CronJob', run: (signal) => queue.run(signal) };
}
