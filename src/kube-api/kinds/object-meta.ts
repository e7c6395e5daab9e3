/** The metadata of any kind of object, judged as the API server does. */
import { type FieldError, FieldErrors, LazyFieldPath } from '../../kube/manifests/validation/field-errors.js';
import {
  validateAnnotations,
  validateLabels,
  validateOwners,
} from '../../kube/manifests/validation/metadata.js';
import { dnsLabel, dnsSubdomain, qualifiedName } from '../../kube/manifests/validation/names.js';
import type { ObjectMeta } from '../../kube/types/index.js';
import type { Resource } from '../../kube-client/resources.js';

/** Kinds whose names are labels of DNS names. */
const labelNames: ReadonlySet<string> = new Set(['Namespace', 'Service']);

export function validateObjectMeta(
  metadata: ObjectMeta,
  { kind, namespaced }: Resource,
): readonly FieldError[] {
  const errors = new FieldErrors();
  const field = LazyFieldPath.root('metadata');
  if (metadata.name)
    errors.check(field.child('name'), metadata.name, labelNames.has(kind) ? dnsLabel : dnsSubdomain);
  else errors.required(field.child('name'), 'name or generateName is required');
  if (namespaced) errors.requiredCheck(field.child('namespace'), metadata.namespace, dnsLabel);
  validateLabels(metadata.labels, field.child('labels'), errors);
  validateAnnotations(metadata.annotations, field.child('annotations'), errors);
  validateOwners(metadata, field.child('ownerReferences'), errors);
  for (const [index, finalizer] of (metadata.finalizers ?? []).entries())
    errors.check(field.child('finalizers').child(index), finalizer, qualifiedName);
  return errors.list;
}

/** Whoever is being deleted waits for nobody new. */
export function addedFinalizers(next: ObjectMeta, current: ObjectMeta): readonly FieldError[] {
  if (current.deletionTimestamp === undefined) return [];
  const had = new Set(current.finalizers ?? []);
  const added = (next.finalizers ?? []).filter((one) => !had.has(one));
  if (added.length === 0) return [];
  const names = added.map((one) => JSON.stringify(one)).join(', ');
  const message = `Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{${names}}`;
  return [{ path: ['metadata', 'finalizers'], message }];
}
