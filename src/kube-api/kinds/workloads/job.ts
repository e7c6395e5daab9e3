/** Jobs: a selector of their own, and a spec that mostly stays as it was made. */
import {
  type FieldError,
  FieldErrors,
  LazyFieldPath,
} from '../../../kube/manifests/validation/field-errors.js';
import type { Job, JobSpec, PodTemplateSpec } from '../../../kube/types/index.js';
import { clone, semanticEqual } from '../../../kube/values/deep-equal.js';
import { resources } from '../../../kube-client/resources.js';
import { served } from '../served-kind.js';
import { validateCounts } from './amounts.js';
import { applyTemplateDefaults, templateErrors } from './pod-template.js';
import { validateSameSelector, validateSelector } from './selector.js';

const uidLabel = 'batch.kubernetes.io/controller-uid';
const nameLabel = 'batch.kubernetes.io/job-name';
/** Older names of both. */
const oldUidLabel = 'controller-uid';
const oldNameLabel = 'job-name';
const largestInt32 = 2 ** 31 - 1;
const counts = [
  'parallelism',
  'completions',
  'backoffLimit',
  'backoffLimitPerIndex',
  'maxFailedIndexes',
  'activeDeadlineSeconds',
  'ttlSecondsAfterFinished',
] as const;

export const jobKind = served<Job>({
  resource: resources.jobs,
  singular: 'job',
  categories: ['all'],
  subresources: ['status'],
  countsGenerations: true,
  defaults: ({ spec }) => {
    applyJobTemplateDefaults(spec);
    if (spec.completions === undefined && spec.parallelism === undefined) spec.completions = 1;
    spec.parallelism ??= 1;
    spec.backoffLimit ??= spec.backoffLimitPerIndex === undefined ? 6 : largestInt32;
    spec.completionMode ??= 'NonIndexed';
    spec.suspend ??= false;
    spec.manualSelector ??= false;
    spec.podReplacementPolicy ??= spec.podFailurePolicy === undefined ? 'TerminatingOrFailed' : 'Failed';
  },
  admit: (job) => {
    if (job.spec.manualSelector !== true) generateSelector(job);
    const { labels } = job.spec.template.metadata ?? {};
    if (labels !== undefined && Object.keys(job.metadata.labels ?? {}).length === 0)
      job.metadata.labels = { ...labels };
    job.status = {};
  },
  validate: ({ spec, metadata }) => {
    const errors = new FieldErrors();
    const field = LazyFieldPath.root('spec');
    const { length } = metadata.name ?? '';
    if (length > 63)
      errors.invalid(
        LazyFieldPath.root('metadata').child('name'),
        metadata.name,
        'must be no more than 63 characters',
      );
    validateSelector(spec.selector, spec.template, 'job', errors);
    return [...errors.list, ...jobSpecErrors(spec, field, ['spec'])];
  },
  validateUpdate: (next, current, subresource) => (subresource === 'status' ? [] : changes(next, current)),
});

export function applyJobTemplateDefaults(spec: JobSpec): void {
  spec.template ??= { spec: { containers: [] } };
  applyTemplateDefaults(spec.template);
}

/** Pods are told apart by the identity of their job, whatever its name was before. */
function generateSelector({ metadata: { uid = '', name = '' }, spec }: Job): void {
  const given = spec.template.metadata?.labels ?? {};
  spec.template.metadata = {
    ...spec.template.metadata,
    labels: { ...given, [oldUidLabel]: uid, [oldNameLabel]: name, [uidLabel]: uid, [nameLabel]: name },
  };
  spec.selector ??= {};
  spec.selector.matchLabels = { ...spec.selector.matchLabels, [uidLabel]: uid };
}

/** Also of a job that a cron job will make. */
export function jobSpecErrors(
  spec: JobSpec,
  field: LazyFieldPath,
  path: readonly string[],
): readonly FieldError[] {
  const errors = new FieldErrors();
  validateCounts(spec, counts, field, errors);
  errors.oneOf(field.child('completionMode'), spec.completionMode, ['Indexed', 'NonIndexed']);
  if (spec.completionMode === 'Indexed' && spec.completions === undefined)
    errors.required(field.child('completions'), 'when completion mode is Indexed');
  if (spec.backoffLimitPerIndex !== undefined && spec.completionMode !== 'Indexed')
    errors.invalid(
      field.child('backoffLimitPerIndex'),
      spec.backoffLimitPerIndex,
      'requires indexed completion mode',
    );
  if (spec.maxFailedIndexes !== undefined && spec.backoffLimitPerIndex === undefined)
    errors.required(field.child('backoffLimitPerIndex'), 'when maxFailedIndexes is specified');
  errors.oneOf(field.child('podReplacementPolicy'), spec.podReplacementPolicy, [
    'Failed',
    'TerminatingOrFailed',
  ]);
  const { restartPolicy } = spec.template.spec;
  const at = field.child('template').child('spec').child('restartPolicy');
  if (restartPolicy === 'Always' || restartPolicy === undefined)
    errors.unsupported(at, restartPolicy, ['OnFailure', 'Never']);
  if (spec.podFailurePolicy !== undefined) {
    if (restartPolicy !== 'Never')
      errors.invalid(at, restartPolicy, 'only "Never" is supported when podFailurePolicy is specified');
    for (const [index, { action }] of spec.podFailurePolicy.rules.entries())
      errors.requiredOneOf(
        field.child('podFailurePolicy').child('rules').child(index).child('action'),
        action,
        ['Count', 'FailIndex', 'FailJob', 'Ignore'],
      );
  }
  return [...errors.list, ...templateErrors(spec.template, [...path, 'template'])];
}

const fixed = [
  'podFailurePolicy',
  'successPolicy',
  'completionMode',
  'backoffLimitPerIndex',
  'managedBy',
] as const;

function changes(next: Job, current: Job): readonly FieldError[] {
  const errors = new FieldErrors();
  const field = LazyFieldPath.root('spec');
  const { spec } = next;
  validateSameSelector(spec.selector, current.spec.selector, errors);
  for (const name of fixed) {
    if (!semanticEqual(spec[name], current.spec[name]))
      errors.invalid(field.child(name), spec[name], 'field is immutable');
  }
  // An indexed job may grow and shrink with its parallelism.
  const isElastic = spec.completionMode === 'Indexed' && spec.completions === spec.parallelism;
  if (spec.completions !== current.spec.completions && !isElastic)
    errors.invalid(field.child('completions'), spec.completions, 'field is immutable');
  if (!semanticEqual(comparedTemplate(next, current), current.spec.template))
    errors.invalid(field.child('template'), spec.template, 'field is immutable');
  return errors.list;
}

/** While a job is held back, and has not begun, it may still be told where its pods go and what they get. */
function comparedTemplate({ spec: { template } }: Job, current: Job): PodTemplateSpec {
  const isHeldBack = current.spec.suspend === true && current.status?.startTime === undefined;
  if (!isHeldBack) return template;
  const before = current.spec.template;
  const compared = clone(template);
  const directives = ['nodeSelector', 'affinity', 'tolerations', 'schedulingGates'] as const;
  for (const name of directives) {
    if (before.spec[name] === undefined) delete compared.spec[name];
    else Reflect.set(compared.spec, name, before.spec[name]);
  }
  for (const container of compared.spec.containers) {
    const same = before.spec.containers.find(({ name }) => name === container.name);
    if (same?.resources !== undefined) container.resources = same.resources;
  }
  for (const name of ['labels', 'annotations'] as const) {
    const value = before.metadata?.[name];
    compared.metadata ??= {};
    if (value === undefined) delete compared.metadata[name];
    else compared.metadata[name] = value;
  }
  return compared;
}
