/** Deployments, ReplicaSets and DaemonSets. */
import {
  type FieldError,
  FieldErrors,
  LazyFieldPath,
} from '../../../kube/manifests/validation/field-errors.js';
import type { DaemonSet, Deployment, ReplicaSet } from '../../../kube/types/index.js';
import { resources } from '../../../kube-client/resources.js';
import { served } from '../served-kind.js';
import { isZero, validateAtMostAll, validateCountOrPercent, validateCounts } from './amounts.js';
import { applyTemplateDefaults, templateErrors, validateEndlessTemplate } from './pod-template.js';
import { validateSameSelector, validateSelector } from './selector.js';

const spec = LazyFieldPath.root('spec');
const templatePath = ['spec', 'template'];

export const deploymentKind = served<Deployment>({
  resource: resources.deployments,
  singular: 'deployment',
  shortNames: ['deploy'],
  categories: ['all'],
  subresources: ['status', 'scale'],
  countsGenerations: true,
  defaults: (deployment) => {
    const wanted = deployment.spec;
    wanted.replicas ??= 1;
    wanted.template ??= { spec: { containers: [] } };
    applyTemplateDefaults(wanted.template);
    wanted.strategy ??= {};
    wanted.strategy.type ||= 'RollingUpdate';
    if (wanted.strategy.type === 'RollingUpdate') {
      wanted.strategy.rollingUpdate ??= {};
      wanted.strategy.rollingUpdate.maxUnavailable ??= '25%';
      wanted.strategy.rollingUpdate.maxSurge ??= '25%';
    }
    wanted.revisionHistoryLimit ??= 10;
    wanted.progressDeadlineSeconds ??= 600;
  },
  validate: validateDeployment,
  validateUpdate: (next, current, subresource) => sameSelector(next, current, subresource),
});

function validateDeployment(deployment: Deployment): readonly FieldError[] {
  const errors = new FieldErrors();
  const wanted = deployment.spec;
  validateCounts(
    wanted,
    ['replicas', 'minReadySeconds', 'revisionHistoryLimit', 'progressDeadlineSeconds'],
    spec,
    errors,
  );
  validateSelector(wanted.selector, wanted.template, 'deployment', errors);
  validateEndlessTemplate(wanted.template, 'ReplicaSet', errors);
  validateStrategy(wanted, errors);
  const { progressDeadlineSeconds = 600, minReadySeconds = 0 } = wanted;
  if (progressDeadlineSeconds <= minReadySeconds)
    errors.invalid(
      spec.child('progressDeadlineSeconds'),
      progressDeadlineSeconds,
      'must be greater than minReadySeconds',
    );
  return [...errors.list, ...templateErrors(wanted.template, templatePath)];
}

function validateStrategy({ strategy = {} }: Deployment['spec'], errors: FieldErrors): void {
  const field = spec.child('strategy');
  const rolling = field.child('rollingUpdate');
  if (strategy.type === 'Recreate') {
    if (strategy.rollingUpdate !== undefined)
      errors.forbidden(rolling, "may not be specified when strategy `type` is 'Recreate'");
    return;
  }
  if (strategy.type !== 'RollingUpdate') {
    errors.unsupported(field.child('type'), strategy.type, ['Recreate', 'RollingUpdate']);
    return;
  }
  const { maxUnavailable, maxSurge } = strategy.rollingUpdate ?? {};
  validateCountOrPercent(maxUnavailable, rolling.child('maxUnavailable'), errors);
  validateCountOrPercent(maxSurge, rolling.child('maxSurge'), errors);
  if (isZero(maxUnavailable) && isZero(maxSurge))
    errors.invalid(rolling.child('maxUnavailable'), maxUnavailable, 'may not be 0 when `maxSurge` is 0');
  validateAtMostAll(maxUnavailable, rolling.child('maxUnavailable'), errors);
}

export const replicaSetKind = served<ReplicaSet>({
  resource: resources.replicaSets,
  singular: 'replicaset',
  shortNames: ['rs'],
  categories: ['all'],
  subresources: ['status', 'scale'],
  countsGenerations: true,
  defaults: ({ spec: wanted }) => {
    wanted.replicas ??= 1;
    wanted.template ??= { spec: { containers: [] } };
    applyTemplateDefaults(wanted.template);
  },
  admit: (set) => {
    set.status = { replicas: 0 };
  },
  validate: ({ spec: { template, ...wanted } }) => {
    const errors = new FieldErrors();
    validateCounts(wanted, ['replicas', 'minReadySeconds'], spec, errors);
    validateSelector(wanted.selector, template, 'deployment', errors);
    if (template === undefined) return errors.list;
    validateEndlessTemplate(template, 'ReplicaSet', errors);
    return [...errors.list, ...templateErrors(template, templatePath)];
  },
  validateUpdate: (next, current, subresource) => sameSelector(next, current, subresource),
});

export const daemonSetKind = served<DaemonSet>({
  resource: resources.daemonSets,
  singular: 'daemonset',
  shortNames: ['ds'],
  categories: ['all'],
  subresources: ['status'],
  countsGenerations: true,
  defaults: ({ spec: wanted }) => {
    wanted.template ??= { spec: { containers: [] } };
    applyTemplateDefaults(wanted.template);
    wanted.updateStrategy ??= {};
    wanted.updateStrategy.type ||= 'RollingUpdate';
    if (wanted.updateStrategy.type === 'RollingUpdate') {
      wanted.updateStrategy.rollingUpdate ??= {};
      wanted.updateStrategy.rollingUpdate.maxUnavailable ??= 1;
      wanted.updateStrategy.rollingUpdate.maxSurge ??= 0;
    }
    wanted.revisionHistoryLimit ??= 10;
  },
  admit: (set) => {
    set.status = {
      currentNumberScheduled: 0,
      numberMisscheduled: 0,
      desiredNumberScheduled: 0,
      numberReady: 0,
    };
  },
  validate: validateDaemonSet,
  validateUpdate: (next, current, subresource) => sameSelector(next, current, subresource),
});

function validateDaemonSet({ spec: wanted }: DaemonSet): readonly FieldError[] {
  const errors = new FieldErrors();
  validateCounts(wanted, ['minReadySeconds', 'revisionHistoryLimit'], spec, errors);
  validateSelector(wanted.selector, wanted.template, 'daemonset', errors);
  validateEndlessTemplate(wanted.template, 'DaemonSet', errors);
  const { type, rollingUpdate = {} } = wanted.updateStrategy ?? {};
  const field = spec.child('updateStrategy');
  if (type === 'RollingUpdate') {
    const { maxUnavailable, maxSurge } = rollingUpdate;
    const rolling = field.child('rollingUpdate');
    validateCountOrPercent(maxUnavailable, rolling.child('maxUnavailable'), errors);
    validateCountOrPercent(maxSurge, rolling.child('maxSurge'), errors);
    if (isZero(maxUnavailable) && isZero(maxSurge))
      errors.invalid(rolling.child('maxUnavailable'), maxUnavailable, 'cannot be 0 when maxSurge is 0');
    else if (!isZero(maxUnavailable) && !isZero(maxSurge))
      errors.invalid(rolling.child('maxSurge'), maxSurge, 'may not be set when maxUnavailable is non-zero');
  } else if (type !== 'OnDelete')
    errors.unsupported(field.child('type'), type, ['OnDelete', 'RollingUpdate']);
  return [...errors.list, ...templateErrors(wanted.template, templatePath)];
}

function sameSelector(
  next: Deployment | ReplicaSet | DaemonSet,
  current: Deployment | ReplicaSet | DaemonSet,
  subresource: string | undefined,
): readonly FieldError[] {
  const errors = new FieldErrors();
  if (subresource !== 'status') validateSameSelector(next.spec.selector, current.spec.selector, errors);
  return errors.list;
}
