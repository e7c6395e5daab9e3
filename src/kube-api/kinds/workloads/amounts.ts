/** Numbers in the specs of workloads: counts, seconds, and counts that may be percentages. */
import type { FieldErrors, LazyFieldPath } from '../../../kube/manifests/validation/field-errors.js';
import type { IntOrString } from '../../../kube/types/index.js';

/** Whole and not negative, of each named field that is set. */
export function validateCounts<T extends object>(
  of: T,
  names: readonly (keyof T & string)[],
  field: LazyFieldPath,
  errors: FieldErrors,
): void {
  for (const name of names) {
    const value: unknown = of[name];
    if (value === undefined) continue;
    if (!Number.isSafeInteger(value)) errors.invalid(field.child(name), value, 'must be an integer');
    else errors.nonNegative(field.child(name), Number(value));
  }
}

/** A count or a percentage of the replicas. */
export function validateCountOrPercent(
  value: IntOrString | undefined,
  field: LazyFieldPath,
  errors: FieldErrors,
): void {
  if (value === undefined) return;
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value)) errors.invalid(field, value, 'must be an integer');
    else errors.nonNegative(field, value);
  } else if (!/^\d+%$/.test(value))
    errors.invalid(
      field,
      value,
      "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
    );
}

export function validateAtMostAll(
  value: IntOrString | undefined,
  field: LazyFieldPath,
  errors: FieldErrors,
): void {
  if (typeof value === 'string' && /^\d+%$/.test(value) && Number(value.slice(0, -1)) > 100)
    errors.invalid(field, value, 'must not be greater than 100%');
}

export function isZero(value: IntOrString | undefined): boolean {
  return value === 0 || (typeof value === 'string' && /^0+%$/.test(value));
}
