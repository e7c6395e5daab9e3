/** Validates an object's metadata: its name, labels, annotations, owners and finalizers. */
import type { ObjectMeta } from '../../types/meta.js';
import type { FieldErrors, LazyFieldPath } from './field-errors.js';
import { dnsLabel, dnsSubdomain, labelValue, qualifiedName } from './names.js';

const annotationsLimitBytes = 256 * 1024;

export function validateMetadata(metadata: ObjectMeta, field: LazyFieldPath, errors: FieldErrors): void {
  if (metadata.generateName) {
    errors.check(field.child('generateName'), metadata.generateName, (prefix) =>
      dnsSubdomain(prefix.replace(/-$/, '')),
    );
  }
  if (metadata.name) errors.check(field.child('name'), metadata.name, dnsSubdomain);
  else errors.required(field.child('name'), 'name or generateName is required');
  errors.requiredCheck(field.child('namespace'), metadata.namespace, dnsLabel);
  errors.nonNegative(field.child('generation'), metadata.generation);
  validateLabels(metadata.labels, field.child('labels'), errors);
  validateAnnotations(metadata.annotations, field.child('annotations'), errors);
  validateOwners(metadata, field.child('ownerReferences'), errors);
  const finalizers = field.child('finalizers');
  for (const [index, finalizer] of (metadata.finalizers ?? []).entries()) {
    errors.check(finalizers.child(index), finalizer, qualifiedName);
  }
}

/** Label keys and values; also used for node selectors and label selectors. */
export function validateLabels(
  labels: Record<string, string> | undefined,
  field: LazyFieldPath,
  errors: FieldErrors,
): void {
  for (const [key, value] of Object.entries(labels ?? {})) {
    errors.check(field, key, qualifiedName);
    errors.check(field, value, labelValue);
  }
}

export function validateAnnotations(
  annotations: Record<string, string> | undefined,
  field: LazyFieldPath,
  errors: FieldErrors,
): void {
  let totalBytes = 0;
  for (const [key, value] of Object.entries(annotations ?? {})) {
    const detail = qualifiedName(key.toLowerCase());
    if (detail !== undefined) errors.invalid(field, key, detail);
    totalBytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (totalBytes > annotationsLimitBytes) errors.tooLong(field, annotationsLimitBytes);
}

export function validateOwners(metadata: ObjectMeta, field: LazyFieldPath, errors: FieldErrors): void {
  let controller: string | undefined;
  for (const [index, owner] of (metadata.ownerReferences ?? []).entries()) {
    const at = field.child(index);
    for (const part of ['apiVersion', 'kind', 'name', 'uid'] as const) {
      if (owner[part] === '') errors.invalid(at.child(part), '', 'must not be empty');
    }
    if (owner.controller !== true) continue;
    if (controller === undefined) controller = `${owner.kind}/${owner.name}`;
    else
      errors.invalid(
        field,
        `${owner.kind}/${owner.name}`,
        `only one owner may be the controller, and ${controller} already is`,
      );
  }
}
