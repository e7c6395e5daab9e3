/** Kubernetes objects: their types, how to read them from text, default and validate them. */

export * from './cgroup-units.js';
export * from './claims.js';
export * from './container-id.js';
export * from './decode.js';
export * from './deep-equal.js';
export * from './defaults.js';
export * from './document.js';
export * from './document-limits.js';
export * from './downward.js';
export * from './go-format.js';
export * from './image-name.js';
export * from './ip-address.js';
export { JsonProblem, type JsonTextLimits, parseJson } from './json-text.js';
export * from './label-selector.js';
export * from './node-selector.js';
export * from './object-readers.js';
export * from './object-store.js';
export * from './pod-hash.js';
export * from './pod-names.js';
export {
  aggregateContainers,
  aggregatePod,
  isPodLevelResource,
  podLimits,
  podRequests,
} from './pod-resource-defaults.js';
export * from './problem.js';
export * from './qos.js';
export * from './quantity.js';
export * from './references.js';
export * from './restart-policy.js';
export * from './static-pods.js';
export type * from './types.js';
export { type FieldError, formatFieldError, formatFieldErrors } from './validation/field-errors.js';
export { objectDataLimitBytes, type StandaloneObject, validateObject } from './validation/objects.js';
export * from './validation.js';
