/** The selector of a workload: well-formed, not empty, and matching the pods of its own template. */
import { type FieldErrors, LazyFieldPath } from '../../../kube/manifests/validation/field-errors.js';
import { validateLabels } from '../../../kube/manifests/validation/metadata.js';
import { labelValue, qualifiedName } from '../../../kube/manifests/validation/names.js';
import type { LabelSelector, PodTemplateSpec } from '../../../kube/types/index.js';
import { semanticEqual } from '../../../kube/values/deep-equal.js';
import { selectorMatches } from '../../../kube/values/label-selector.js';

const spec = LazyFieldPath.root('spec');
const operators = ['DoesNotExist', 'Exists', 'In', 'NotIn'];

/** Whether it can be asked to match. */
export function validateLabelSelector(
  selector: LabelSelector,
  field: LazyFieldPath,
  errors: FieldErrors,
): boolean {
  const before = errors.list.length;
  validateLabels(selector.matchLabels, field.child('matchLabels'), errors);
  for (const [index, { key, operator, values = [] }] of (selector.matchExpressions ?? []).entries()) {
    const at = field.child('matchExpressions').child(index);
    errors.requiredCheck(at.child('key'), key, qualifiedName);
    if (operator === 'In' || operator === 'NotIn') {
      if (values.length === 0)
        errors.required(at.child('values'), "must be specified when `operator` is 'In' or 'NotIn'");
    } else if (operator === 'Exists' || operator === 'DoesNotExist') {
      if (values.length > 0)
        errors.forbidden(
          at.child('values'),
          "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        );
    } else errors.unsupported(at.child('operator'), operator, operators);
    for (const [position, value] of values.entries())
      errors.check(at.child('values').child(position), value, labelValue);
  }
  return errors.list.length === before;
}

export function validateSelector(
  selector: LabelSelector | undefined,
  template: PodTemplateSpec | undefined,
  kind: string,
  errors: FieldErrors,
): void {
  const field = spec.child('selector');
  if (selector === undefined || selector === null) {
    errors.required(field);
    return;
  }
  if (semanticEqual(selector, {})) {
    errors.invalid(field, selector, `empty selector is invalid for ${kind}`);
    return;
  }
  if (!validateLabelSelector(selector, field, errors) || template === undefined) return;
  const labels = template.metadata?.labels ?? {};
  if (!selectorMatches(selector, labels))
    errors.invalid(
      spec.child('template').child('metadata').child('labels'),
      labels,
      '`selector` does not match template `labels`',
    );
}

export function validateSameSelector(
  next: LabelSelector | undefined,
  current: LabelSelector | undefined,
  errors: FieldErrors,
): void {
  if (!semanticEqual(next, current)) errors.invalid(spec.child('selector'), next, 'field is immutable');
}
