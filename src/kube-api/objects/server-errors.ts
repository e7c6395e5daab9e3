/** The server's errors in its own words. */
import { ApiError } from '../../kube-client/api-error.js';
import { qualifiedPlural, type Resource } from '../../kube-client/resources.js';
import { kubeApiLimits } from '../limits.js';

function detailsOf(
  { plural, group }: Resource,
  name: string,
): { name: string; kind: string; group?: string } {
  return { name, kind: plural, ...(group === '' ? {} : { group }) };
}

export function notFound(resource: Resource, name: string): ApiError {
  const message = `${qualifiedPlural(resource)} ${JSON.stringify(name)} not found`;
  return new ApiError({ code: 404, reason: 'NotFound', message, details: detailsOf(resource, name) });
}

export function alreadyExists(resource: Resource, name: string): ApiError {
  const message = `${qualifiedPlural(resource)} ${JSON.stringify(name)} already exists`;
  return new ApiError({ code: 409, reason: 'AlreadyExists', message, details: detailsOf(resource, name) });
}

export function conflict(
  resource: Resource,
  name: string,
  why = 'the object has been modified; please apply your changes to the latest version and try again',
): ApiError {
  const message = `Operation cannot be fulfilled on ${qualifiedPlural(resource)} ${JSON.stringify(name)}: ${why}`;
  return new ApiError({ code: 409, reason: 'Conflict', message, details: detailsOf(resource, name) });
}

/** An update with the UID of another object. */
export function uidMismatch(
  resource: Resource,
  name: string,
  given: string,
  found: string | undefined,
): ApiError {
  const why = `Precondition failed: UID in precondition: ${given}, UID in object meta: ${found ?? ''}`;
  return conflict(resource, name, why);
}

/** A deletion of an object other than the existing one. */
export function deletePreconditionFailed(
  resource: Resource,
  name: string,
  what: 'UID' | 'ResourceVersion',
  wanted: string,
  found: string | undefined,
): ApiError {
  const guess = what === 'UID' ? 'deleted and then recreated' : 'modified';
  const why = `the ${what} in the precondition (${wanted}) does not match the ${what} in record (${found ?? ''}). The object might have been ${guess}`;
  const message = `Operation cannot be fulfilled on ${resource.kind} ${JSON.stringify(name)}: ${why}`;
  return new ApiError({ code: 409, reason: 'Conflict', message, details: detailsOf(resource, name) });
}

export function invalid(resource: Resource, name: string, why: string): ApiError {
  const message = `${resource.kind} ${JSON.stringify(name)} is invalid: ${why}`;
  return new ApiError({ code: 422, reason: 'Invalid', message, details: detailsOf(resource, name) });
}

/** An admission that the server's rules do not give. */
export function forbidden(resource: Resource, name: string, why: string): ApiError {
  const message = `${qualifiedPlural(resource)} ${JSON.stringify(name)} is forbidden: ${why}`;
  return new ApiError({ code: 403, reason: 'Forbidden', message, details: detailsOf(resource, name) });
}

const causes: readonly (readonly [begins: string, reason: string])[] = [
  ['Required value', 'FieldValueRequired'],
  ['Duplicate value', 'FieldValueDuplicate'],
  ['Unsupported value', 'FieldValueNotSupported'],
  ['Forbidden', 'FieldValueForbidden'],
  ['Not found', 'FieldValueNotFound'],
  ['Too long', 'FieldValueTooLong'],
  ['Too many', 'FieldValueTooMany'],
];

/** With a cause for each field: clients show those, and not the message. */
export function invalidFields(
  resource: Resource,
  name: string,
  why: string,
  errors: readonly { readonly field: string; readonly message: string }[],
): ApiError {
  const { kind, group } = resource;
  const reasonOf = (message: string): string =>
    causes.find(([begins]) => message.startsWith(begins))?.[1] ?? 'FieldValueInvalid';
  return new ApiError({
    code: 422,
    reason: 'Invalid',
    message: `${qualifiedKind(resource)} ${JSON.stringify(name)} is invalid: ${why}`,
    details: {
      name,
      ...(group === '' ? {} : { group }),
      kind,
      causes: errors.map(({ field, message }) => ({ reason: reasonOf(message), message, field })),
    },
  });
}

function qualifiedKind({ kind, group }: Resource): string {
  return group === '' ? kind : `${kind}.${group}`;
}

export function tooLarge(wanted: number, current: number): ApiError {
  return new ApiError({
    code: 504,
    reason: 'Timeout',
    message: `Timeout: Too large resource version: ${wanted}, current: ${current}`,
    details: {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    },
  });
}

/** As a quota would say it. */
export function storageFull(): ApiError {
  const message = `the objects of one node are limited to ${kubeApiLimits.storedBytes} bytes together; delete some first`;
  return new ApiError({ code: 403, reason: 'Forbidden', message });
}
