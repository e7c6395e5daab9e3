/** The spec of a claim, wherever it stands: its defaults and its validation. */
import type { FieldErrors, LazyFieldPath } from '../../../kube/manifests/validation/field-errors.js';
import { dnsSubdomain } from '../../../kube/manifests/validation/names.js';
import type { PersistentVolumeClaim } from '../../../kube/types/index.js';
import { compareQuantities, tryParseQuantity, zeroQuantity } from '../../../kube/values/quantity.js';
import { validateLabelSelector } from '../workloads/selector.js';

type ClaimSpec = PersistentVolumeClaim['spec'];

const accessModes = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];
const volumeModes = ['Block', 'Filesystem'];

export function applyClaimDefaults(spec: ClaimSpec): void {
  spec.volumeMode ??= 'Filesystem';
}

export function validateClaimSpec(spec: ClaimSpec, field: LazyFieldPath, errors: FieldErrors): void {
  validateAccessModes(spec.accessModes, field.child('accessModes'), errors);
  if (spec.selector !== undefined) validateLabelSelector(spec.selector, field.child('selector'), errors);
  const storage = spec.resources?.requests?.storage;
  const at = field.child('resources');
  if (storage === undefined) errors.required(at.child('storage'));
  else validatePositive(storage, at.child('requests').child('storage'), errors);
  if (spec.storageClassName)
    errors.check(field.child('storageClassName'), spec.storageClassName, dnsSubdomain);
  errors.oneOf(field.child('volumeMode'), spec.volumeMode, volumeModes);
}

export function validateAccessModes(
  modes: readonly string[] | undefined,
  field: LazyFieldPath,
  errors: FieldErrors,
): void {
  if ((modes ?? []).length === 0) errors.required(field, 'at least 1 access mode is required');
  for (const mode of modes ?? []) errors.oneOf(field, mode, accessModes);
  if ((modes ?? []).length > 1 && modes?.includes('ReadWriteOncePod'))
    errors.forbidden(field, 'may not use ReadWriteOncePod with other access modes');
}

export function validatePositive(text: string, field: LazyFieldPath, errors: FieldErrors): void {
  const amount = tryParseQuantity(text);
  if (amount === undefined || compareQuantities(amount, zeroQuantity) <= 0)
    errors.invalid(field, text, 'must be greater than zero');
}
