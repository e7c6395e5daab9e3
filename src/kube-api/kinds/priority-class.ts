/** Classes of priority: two belong to the system, one may be the default. */
import { type FieldError, FieldErrors, LazyFieldPath } from '../../kube/manifests/validation/field-errors.js';
import type { PriorityClass } from '../../kube/types/index.js';
import { resources } from '../../kube-client/resources.js';
import { forbidden } from '../objects/server-errors.js';
import { served } from './served-kind.js';

const systemPrefix = 'system-';
const highestUserPriority = 1_000_000_000;
const preemptionPolicies = ['Never', 'PreemptLowerPriority'];

/** Known even before somebody made the objects. */
export const systemPriorityClasses: readonly PriorityClass[] = [
  { metadata: { name: 'system-node-critical' }, value: 2_000_001_000 },
  { metadata: { name: 'system-cluster-critical' }, value: 2_000_000_000 },
];

export const priorityClassKind = served({
  resource: resources.priorityClasses,
  singular: 'priorityclass',
  shortNames: ['pc'],
  subresources: [],
  countsGenerations: true,
  defaults: (one) => {
    one.preemptionPolicy ||= 'PreemptLowerPriority';
  },
  admit: (one, facts) => {
    if (one.globalDefault !== true) return;
    const other = facts.list(resources.priorityClasses).find(({ globalDefault }) => globalDefault === true);
    if (other !== undefined)
      throw forbidden(
        resources.priorityClasses,
        one.metadata.name ?? '',
        `PriorityClass ${other.metadata.name ?? ''} is already marked as globalDefault`,
      );
  },
  validate,
  validateUpdate,
});

function validate({
  metadata,
  value,
  globalDefault,
  preemptionPolicy,
}: PriorityClass): readonly FieldError[] {
  const errors = new FieldErrors();
  const { name = '' } = metadata;
  const system = systemPriorityClasses.find((one) => one.metadata.name === name);
  if (!Number.isSafeInteger(value)) errors.required(LazyFieldPath.root('value'));
  if (system === undefined) {
    if (name.startsWith(systemPrefix))
      errors.forbidden(
        LazyFieldPath.root('metadata').child('name'),
        "priority class names with 'system-' prefix are reserved for system use only",
      );
    if (value > highestUserPriority)
      errors.forbidden(
        LazyFieldPath.root('value'),
        `maximum allowed value of a user defined priority is ${highestUserPriority}`,
      );
  } else if (system.value !== value)
    errors.forbidden(LazyFieldPath.root('value'), `value of ${name} PriorityClass must be ${system.value}`);
  else if (globalDefault === true)
    errors.forbidden(
      LazyFieldPath.root('globalDefault'),
      `globalDefault of ${name} PriorityClass must be false`,
    );
  errors.oneOf(LazyFieldPath.root('preemptionPolicy'), preemptionPolicy, preemptionPolicies);
  return errors.list;
}

function validateUpdate(next: PriorityClass, current: PriorityClass): readonly FieldError[] {
  const errors = new FieldErrors();
  if (next.value !== current.value)
    errors.forbidden(LazyFieldPath.root('value'), 'may not be changed in an update.');
  if (next.preemptionPolicy !== current.preemptionPolicy)
    errors.invalid(LazyFieldPath.root('preemptionPolicy'), next.preemptionPolicy, 'field is immutable');
  return errors.list;
}
