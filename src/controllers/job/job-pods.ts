/** The pods of a Job: how they are made, what their index is, and how each of them counts. */
import type { Container, Job, LabelSelector, Pod, PodManifest } from '../../kube/index.js';
import { resources } from '../../kube-client/index.js';
import { isFinished } from '../pods/pod-facts.js';
import { podFromTemplate } from '../pods/pod-template.js';

export const trackingFinalizer = 'batch.kubernetes.io/job-tracking';
export const indexName = 'batch.kubernetes.io/job-completion-index';
const failureCountName = 'batch.kubernetes.io/job-index-failure-count';
const uidLabel = 'batch.kubernetes.io/controller-uid';

export function isIndexed({ spec }: Job): boolean {
  return spec.completionMode === 'Indexed';
}

/** Whether a pod is replaced only when it has ended, not when its end begins. */
export function replacesOnlyEnded({ spec }: Job): boolean {
  return (
    (spec.podReplacementPolicy ??
      (spec.podFailurePolicy === undefined ? 'TerminatingOrFailed' : 'Failed')) === 'Failed'
  );
}

/** The selector that the server gave the Job, or would have. */
export function jobSelector({ spec, metadata }: Job): LabelSelector {
  return spec.selector ?? { matchLabels: { [uidLabel]: metadata.uid ?? '' } };
}

export function isTracked({ metadata }: Pod): boolean {
  return (metadata.finalizers ?? []).includes(trackingFinalizer);
}

export type JobPodState = 'active' | 'terminating' | 'succeeded' | 'failed';

export function jobPodState(job: Job, pod: Pod): JobPodState {
  if (pod.status?.phase === 'Succeeded') return 'succeeded';
  if (pod.status?.phase === 'Failed') return 'failed';
  if (pod.metadata.deletionTimestamp === undefined) return 'active';
  // No node has it, so nobody will ever tell of its end.
  if (!pod.spec.nodeName) return 'failed';
  return replacesOnlyEnded(job) ? 'terminating' : 'failed';
}

/** On its way out, however it counts. */
export function isLeaving(pod: Pod): boolean {
  return pod.metadata.deletionTimestamp !== undefined && !isFinished(pod) && Boolean(pod.spec.nodeName);
}

/** Undefined for a pod without a usable index. */
export function indexOf({ metadata }: Pod): number | undefined {
  const text = metadata.annotations?.[indexName] ?? metadata.labels?.[indexName] ?? '';
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

/** How many pods of the same index failed before this one. */
export function failuresBefore({ metadata }: Pod): number {
  const text = metadata.annotations?.[failureCountName] ?? '0';
  return /^\d{1,9}$/.test(text) ? Number(text) : 0;
}

export interface WantedJobPod {
  readonly index?: number;
  /** Failures of the index so far; only where they are limited. */
  readonly failures?: number;
}

export function jobPod(job: Job, { index, failures }: WantedJobPod): PodManifest {
  const { name = '', uid = '' } = job.metadata;
  const pod = podFromTemplate({
    template: job.spec.template,
    ownerResource: resources.jobs,
    owner: job,
    namePrefix: index === undefined ? `${name}-` : `${name}-${index}-`,
  });
  const indexText: Record<string, string> = index === undefined ? {} : { [indexName]: String(index) };
  const isManual = job.spec.manualSelector === true;
  const names: Record<string, string> = isManual
    ? {}
    : { [uidLabel]: uid, 'controller-uid': uid, 'batch.kubernetes.io/job-name': name, 'job-name': name };
  pod.metadata.labels = { ...pod.metadata.labels, ...names, ...indexText };
  pod.metadata.finalizers = [...(pod.metadata.finalizers ?? []), trackingFinalizer];
  if (index === undefined) return pod;
  pod.metadata.annotations = {
    ...pod.metadata.annotations,
    ...indexText,
    ...(failures === undefined ? {} : { [failureCountName]: String(failures) }),
  };
  pod.spec.hostname ??= `${name}-${index}`.slice(0, 63).replace(/-+$/, '');
  for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) addIndex(container);
  return pod;
}

function addIndex(container: Container): void {
  if (container.env?.some(({ name }) => name === 'JOB_COMPLETION_INDEX') === true) return;
  const fieldRef = { apiVersion: 'v1', fieldPath: `metadata.labels['${indexName}']` };
  container.env = [...(container.env ?? []), { name: 'JOB_COMPLETION_INDEX', valueFrom: { fieldRef } }];
}
