/** Runs Jobs: makes their pods, counts those that ended, and ends the Job. */
import type { Job, Pod } from '../../kube/index.js';
import { semanticEqual } from '../../kube/index.js';
import { isNotFound, resources } from '../../kube-client/index.js';
import { type Controller, type ControllerContext, queueOf } from '../driver/context.js';
import type { KeyOutcome } from '../driver/key-queue.js';
import { keyOf, keyOfObject, refOf, refOfKey } from '../driver/kind-cache.js';
import { claimObjects } from '../ownership/claim-objects.js';
import { controllerOf, selects } from '../ownership/owner-references.js';
import { inGrowingBatches, PodControl, type PodOwner } from '../pods/pod-control.js';
import { timeMs } from '../pods/pod-facts.js';
import { accountJob } from './job-account.js';
import { finishedMs, type JobFailures, planJob } from './job-plan.js';
import { isTracked, jobPod, jobPodState, jobSelector, trackingFinalizer } from './job-pods.js';
import { jobStatus } from './job-status.js';
import { conditionOfJob, deadlineMs, isJobFinished, jobVerdict } from './job-verdict.js';

const component = 'job-controller';
const resource = resources.jobs;
const ourManager = 'kubernetes.io/job-controller';

export function createJobController(context: ControllerContext): Controller {
  const { api, clock, caches, events } = context;
  const jobs = caches.of(resource);
  const pods = caches.of(resources.pods);
  const control = new PodControl(context);
  /** Pods whose finalizer was removed though the copy may still show it. */
  const released = new Set<string>();
  const failures = new Map<string, JobFailures>();

  const queue = queueOf(context, { name: 'Job', keys: resource, sync });
  pods.onChange(({ before, after }) => {
    if (after === undefined || !isTracked(after)) released.delete((after ?? before)?.metadata.uid ?? '');
    for (const pod of [before, after]) if (pod !== undefined) wakeOwner(pod);
  });
  function wakeOwner(pod: Pod): void {
    const owner = controllerOf(pod);
    const { namespace } = pod.metadata;
    if (owner?.kind === resource.kind) queue.add(keyOf({ namespace, name: owner.name }));
    if (owner !== undefined) return;
    for (const job of jobs.inNamespace(namespace))
      if (selects(jobSelector(job), pod)) queue.add(keyOfObject(job));
  }

  async function sync(key: string, signal: AbortSignal): Promise<KeyOutcome> {
    const ref = refOfKey(key);
    const job = jobs.get(ref);
    await releaseOrphans(ref.namespace ?? '', ref.name, job?.metadata.uid, signal);
    if (job === undefined) {
      failures.delete(key);
      control.expectations.forget(key);
      return {};
    }
    const { managedBy } = job.spec;
    if (managedBy !== undefined && managedBy !== ourManager) return {};
    // Asked before the copy is read: what shows up later is not in the decision.
    const isSettled = control.expectations.isMet(key, clock.now());
    const owned = await claimObjects({
      api,
      ownerResource: resource,
      owner: job,
      selector: jobSelector(job),
      resource: resources.pods,
      objects: pods.inNamespace(job.metadata.namespace ?? ''),
      signal,
    });
    if (isJobFinished(job) || job.metadata.deletionTimestamp !== undefined) {
      for (const pod of owned) await release(pod, signal);
      return job.metadata.deletionTimestamp === undefined ? expire(job, signal) : {};
    }
    return advance(job, owned, { key, isSettled }, signal);
  }

  async function advance(
    job: Job,
    owned: readonly Pod[],
    { key, isSettled }: { readonly key: string; readonly isSettled: boolean },
    signal: AbortSignal,
  ): Promise<KeyOutcome> {
    const nowMs = clock.now();
    const account = accountJob({ job, pods: owned, released: (uid) => released.has(uid) });
    const active = owned.filter((pod) => jobPodState(job, pod) === 'active');
    const verdict = jobVerdict({ job, account, active, nowMs });
    const { status, news } = jobStatus({ job, pods: owned, account, verdict, nowMs });
    let current = job;
    if (!semanticEqual(job.status, status)) {
      current = await api.update(resource, { ...job, status }, { subresource: 'status', signal });
      for (const one of news) events.record({ component, resource, object: job, ...one });
      noteFailures(key, account.newFailures, account.hasNewSuccess, nowMs);
    }
    for (const pod of account.release) await release(pod, signal);
    const plan = planJob({ job, pods: owned, account, verdict, failures: failures.get(key), nowMs });
    const owner: PodOwner = { component, resource, object: job, key };
    if (isSettled) {
      const deleted = await inGrowingBatches(plan.delete, (pod) => control.delete(owner, pod, signal));
      if (deleted.error !== undefined) throw deleted.error;
      const created = await inGrowingBatches(plan.create, (one) =>
        control.create(owner, jobPod(job, one), signal),
      );
      if (created.error !== undefined) throw created.error;
    }
    const dueMs = deadlineMs(current);
    const times = [plan.againAtMs, verdict === undefined ? dueMs : undefined].filter(
      (one) => one !== undefined,
    );
    return { againAfterMs: times.length === 0 ? undefined : Math.max(1, Math.min(...times) - nowMs) };
  }

  function noteFailures(key: string, failed: readonly Pod[], hasSuccess: boolean, nowMs: number): void {
    if (hasSuccess) failures.delete(key);
    if (failed.length === 0) return;
    const before = failures.get(key)?.count ?? 0;
    const lastMs = Math.max(...failed.map((pod) => Math.min(finishedMs(pod) ?? nowMs, nowMs)));
    failures.set(key, { count: before + failed.length, lastMs });
  }

  /** Deletes a finished Job when its time is over. */
  async function expire(job: Job, signal: AbortSignal): Promise<KeyOutcome> {
    const { ttlSecondsAfterFinished } = job.spec;
    if (ttlSecondsAfterFinished === undefined) return {};
    const last = conditionOfJob(job, 'Complete') ?? conditionOfJob(job, 'Failed');
    const endMs = (timeMs(last?.lastTransitionTime) ?? clock.now()) + ttlSecondsAfterFinished * 1000;
    if (endMs > clock.now()) return { againAfterMs: endMs - clock.now() };
    const { uid, resourceVersion } = job.metadata;
    try {
      const preconditions = {
        ...(uid === undefined ? {} : { uid }),
        ...(resourceVersion === undefined ? {} : { resourceVersion }),
      };
      await api.delete(resource, refOf(job), { propagationPolicy: 'Foreground', preconditions, signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    return {};
  }

  /** Pods of a Job that is gone wait for nobody to count them. */
  async function releaseOrphans(
    namespace: string,
    name: string,
    uid: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    for (const pod of pods.inNamespace(namespace)) {
      const owner = controllerOf(pod);
      if (owner?.kind === resource.kind && owner.name === name && owner.uid !== uid)
        await release(pod, signal);
    }
  }

  async function release(pod: Pod, signal: AbortSignal): Promise<void> {
    const { uid, finalizers = [], resourceVersion } = pod.metadata;
    if (!isTracked(pod) || released.has(uid)) return;
    const kept = finalizers.filter((one) => one !== trackingFinalizer);
    const body = { metadata: { uid, resourceVersion, finalizers: kept } };
    try {
      await api.patch(resources.pods, refOf(pod), { type: 'merge', body }, { signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    const seen = pods.byUid(uid);
    if (seen !== undefined && isTracked(seen)) released.add(uid);
  }

  return { name: 'Job', run: (signal) => queue.run(signal) };
}
