/** Validates where a pod may be placed: tolerations, affinity, spreading, gates and claims. */
import type { LabelSelector } from '../../types/meta.js';
import type { NodeSelectorTerm, PodAffinityTerm, PodSpec, Toleration } from '../../types/pod.js';
import type { FieldErrors, LazyFieldPath } from './field-errors.js';
import { validateLabels } from './metadata.js';
import { dnsLabel, dnsSubdomain, labelValue, qualifiedName } from './names.js';

const nodeOperators = ['DoesNotExist', 'Exists', 'Gt', 'In', 'Lt', 'NotIn'];
const labelOperators = ['DoesNotExist', 'Exists', 'In', 'NotIn'];

export function validateScheduling(spec: PodSpec, field: LazyFieldPath, errors: FieldErrors): void {
  validateLabels(spec.nodeSelector, field.child('nodeSelector'), errors);
  for (const [index, toleration] of (spec.tolerations ?? []).entries()) {
    validateToleration(toleration, field.child('tolerations').child(index), errors);
  }
  validateAffinity(spec, field.child('affinity'), errors);
  validateSpread(spec, field.child('topologySpreadConstraints'), errors);
  validateGates(spec, field, errors);
}

/** Returns the names of the pod's resource claims. */
export function validateResourceClaims(
  spec: PodSpec,
  field: LazyFieldPath,
  errors: FieldErrors,
): Set<string> {
  const names = new Set<string>();
  for (const [index, claim] of (spec.resourceClaims ?? []).entries()) {
    const at = field.child(index);
    errors.requiredCheck(at.child('name'), claim.name, dnsLabel);
    if (names.has(claim.name)) errors.duplicate(at.child('name'), claim.name);
    names.add(claim.name);
    const hasClaim = claim.resourceClaimName !== undefined;
    const hasTemplate = claim.resourceClaimTemplateName !== undefined;
    if (hasClaim && hasTemplate)
      errors.invalid(at, claim, 'give only one of `resourceClaimName` and `resourceClaimTemplateName`');
    if (!hasClaim && !hasTemplate)
      errors.invalid(at, claim, 'give one of `resourceClaimName` and `resourceClaimTemplateName`');
  }
  return names;
}

function validateToleration(toleration: Toleration, field: LazyFieldPath, errors: FieldErrors): void {
  const { key = '', operator = '', value = '', effect = '' } = toleration;
  if (key !== '') errors.check(field.child('key'), key, qualifiedName);
  else if (operator !== 'Exists') {
    errors.invalid(
      field.child('operator'),
      operator,
      'must be Exists, because a toleration without `key` tolerates every taint',
    );
  }
  if (toleration.tolerationSeconds !== undefined && effect !== 'NoExecute') {
    errors.invalid(
      field.child('effect'),
      effect,
      'must be NoExecute, the only effect that `tolerationSeconds` applies to',
    );
  }
  if (operator === '' || operator === 'Equal') errors.check(field.child('value'), value, labelValue);
  else if (operator === 'Exists') {
    if (value !== '')
      errors.invalid(field.child('operator'), value, 'leave `value` out; Exists tolerates any value');
  } else errors.unsupported(field.child('operator'), operator, ['Equal', 'Exists']);
  if (effect !== '')
    errors.oneOf(field.child('effect'), effect, ['NoExecute', 'NoSchedule', 'PreferNoSchedule']);
}

function validateAffinity(spec: PodSpec, field: LazyFieldPath, errors: FieldErrors): void {
  const { affinity } = spec;
  if (affinity === undefined) return;
  const node = field.child('nodeAffinity');
  const needed = affinity.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (needed !== undefined) {
    const at = node.child('requiredDuringSchedulingIgnoredDuringExecution').child('nodeSelectorTerms');
    if (needed.nodeSelectorTerms.length === 0) errors.required(at, 'give at least one term');
    for (const [index, term] of needed.nodeSelectorTerms.entries())
      validateNodeTerm(term, at.child(index), errors);
  }
  for (const [index, preferred] of (
    affinity.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []
  ).entries()) {
    const at = node.child('preferredDuringSchedulingIgnoredDuringExecution').child(index);
    errors.inRange(at.child('weight'), preferred.weight, 1, 100);
    validateNodeTerm(preferred.preference, at.child('preference'), errors);
  }
  for (const kind of ['podAffinity', 'podAntiAffinity'] as const) {
    const at = field.child(kind);
    for (const [index, term] of (
      affinity[kind]?.requiredDuringSchedulingIgnoredDuringExecution ?? []
    ).entries()) {
      validatePodTerm(term, at.child('requiredDuringSchedulingIgnoredDuringExecution').child(index), errors);
    }
    for (const [index, weighted] of (
      affinity[kind]?.preferredDuringSchedulingIgnoredDuringExecution ?? []
    ).entries()) {
      const entry = at.child('preferredDuringSchedulingIgnoredDuringExecution').child(index);
      errors.inRange(entry.child('weight'), weighted.weight, 1, 100);
      validatePodTerm(weighted.podAffinityTerm, entry.child('podAffinityTerm'), errors);
    }
  }
}

function validateNodeTerm(term: NodeSelectorTerm, field: LazyFieldPath, errors: FieldErrors): void {
  for (const [index, { key, operator, values = [] }] of (term.matchExpressions ?? []).entries()) {
    const at = field.child('matchExpressions').child(index);
    errors.check(at.child('key'), key, qualifiedName);
    validateSelectorValues(operator, values, nodeOperators, at, errors);
  }
  for (const [index, { key, operator }] of (term.matchFields ?? []).entries()) {
    const at = field.child('matchFields').child(index);
    errors.oneOf(at.child('key'), key, ['metadata.name']);
    errors.oneOf(at.child('operator'), operator, ['In', 'NotIn']);
  }
}

function validatePodTerm(term: PodAffinityTerm, field: LazyFieldPath, errors: FieldErrors): void {
  if (term.topologyKey === '') errors.required(field.child('topologyKey'), 'can not be empty');
  else errors.check(field.child('topologyKey'), term.topologyKey, qualifiedName);
  validateSelector(term.labelSelector, field.child('labelSelector'), errors);
  validateSelector(term.namespaceSelector, field.child('namespaceSelector'), errors);
  for (const [index, namespace] of (term.namespaces ?? []).entries()) {
    errors.check(field.child('namespaces').child(index), namespace, dnsLabel);
  }
}

function validateSelector(
  selector: LabelSelector | undefined,
  field: LazyFieldPath,
  errors: FieldErrors,
): void {
  validateLabels(selector?.matchLabels, field.child('matchLabels'), errors);
  for (const [index, { key, operator, values = [] }] of (selector?.matchExpressions ?? []).entries()) {
    const at = field.child('matchExpressions').child(index);
    errors.check(at.child('key'), key, qualifiedName);
    validateSelectorValues(operator, values, labelOperators, at, errors);
  }
}

function validateSelectorValues(
  operator: string,
  values: readonly string[],
  operators: readonly string[],
  field: LazyFieldPath,
  errors: FieldErrors,
): void {
  const at = field.child('values');
  if (!operators.includes(operator))
    errors.invalid(field.child('operator'), operator, 'must be one of the selector operators');
  else if (operator === 'In' || operator === 'NotIn') {
    if (values.length === 0) errors.required(at, 'In and NotIn need at least one value');
  } else if (operator === 'Gt' || operator === 'Lt') {
    if (values.length !== 1) errors.required(at, 'Gt and Lt compare with exactly one value');
  } else if (values.length > 0) errors.forbidden(at, 'Exists and DoesNotExist take no values');
}

function validateSpread(spec: PodSpec, field: LazyFieldPath, errors: FieldErrors): void {
  const seen = new Set<string>();
  for (const [index, constraint] of (spec.topologySpreadConstraints ?? []).entries()) {
    const at = field.child(index);
    if (constraint.maxSkew <= 0)
      errors.invalid(at.child('maxSkew'), constraint.maxSkew, 'must be greater than zero');
    errors.requiredCheck(at.child('topologyKey'), constraint.topologyKey, qualifiedName);
    errors.oneOf(at.child('whenUnsatisfiable'), constraint.whenUnsatisfiable, [
      'DoNotSchedule',
      'ScheduleAnyway',
    ]);
    const pair = `{${constraint.topologyKey}, ${constraint.whenUnsatisfiable}}`;
    if (seen.has(pair)) errors.duplicate(at.child('{topologyKey, whenUnsatisfiable}'), pair);
    seen.add(pair);
    if (constraint.minDomains !== undefined && constraint.minDomains <= 0) {
      errors.invalid(at.child('minDomains'), constraint.minDomains, 'must be greater than zero');
    }
    errors.oneOf(at.child('nodeAffinityPolicy'), constraint.nodeAffinityPolicy, ['Honor', 'Ignore']);
    errors.oneOf(at.child('nodeTaintsPolicy'), constraint.nodeTaintsPolicy, ['Honor', 'Ignore']);
    validateSelector(constraint.labelSelector, at.child('labelSelector'), errors);
  }
}

function validateGates(spec: PodSpec, field: LazyFieldPath, errors: FieldErrors): void {
  for (const [index, gate] of (spec.readinessGates ?? []).entries()) {
    errors.check(
      field.child('readinessGates').child(index).child('conditionType'),
      gate.conditionType,
      qualifiedName,
    );
  }
  const names = new Set<string>();
  const gates = field.child('schedulingGates');
  for (const [index, gate] of (spec.schedulingGates ?? []).entries()) {
    errors.check(gates.child(index), gate.name, qualifiedName);
    if (names.has(gate.name)) errors.duplicate(gates.child(index), gate.name);
    names.add(gate.name);
  }
  if (spec.nodeName) {
    errors.check(field.child('nodeName'), spec.nodeName, dnsSubdomain);
    if (names.size > 0)
      errors.forbidden(field.child('nodeName'), 'a pod with schedulingGates cannot have a node yet');
  }
}
