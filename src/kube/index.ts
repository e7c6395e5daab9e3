/** Kubernetes objects: their types, parsing, defaults and validation. */

export * from './manifests/decode.js';
export * from './manifests/defaults.js';
export * from './manifests/document.js';
export * from './manifests/document-limits.js';
export { JsonProblem, type JsonTextLimits, parseJson } from './manifests/json-text.js';
export {
  aggregateContainers,
  aggregatePod,
  isPodLevelResource,
  podLimits,
  podRequests,
  type ResourceQuantities,
  workloadLimits,
  workloadRequests,
} from './manifests/pod-resources.js';
export * from './manifests/problem.js';
export * from './manifests/static-pods.js';
export { type FieldError, formatFieldError, formatFieldErrors } from './manifests/validation/field-errors.js';
export { dnsSubdomain, labelValue, qualifiedName } from './manifests/validation/names.js';
export {
  objectDataLimitBytes,
  type StandaloneObject,
  type StandaloneObjectKind,
  validateObject,
} from './manifests/validation/objects.js';
export * from './manifests/validation.js';
export * from './object-readers.js';
export * from './object-store.js';
export { addToLimits, claimedByContainer, claimedShare } from './pods/claimed-amounts.js';
export * from './pods/claims.js';
export * from './pods/container-id.js';
export * from './pods/downward.js';
export * from './pods/image-name.js';
export * from './pods/memory-volumes.js';
export * from './pods/pod-hash.js';
export * from './pods/pod-names.js';
export { withBuiltInPriority } from './pods/priority.js';
export type { ProbeResult } from './pods/probe-result.js';
export * from './pods/qos.js';
export * from './pods/references.js';
export * from './pods/request-total.js';
export * from './pods/resource-checkpoint.js';
export * from './pods/restart-policy.js';
export * from './pods/unreadable-field.js';
export type * from './types/index.js';
export * from './values/cgroup-units.js';
export * from './values/cpu-set.js';
export * from './values/deep-equal.js';
export * from './values/eviction-thresholds.js';
export { isExtendedResourceName } from './values/extended-resource.js';
export * from './values/go-format.js';
export * from './values/ip-address.js';
export * from './values/label-selector.js';
export * from './values/node-selector.js';
export * from './values/quantity.js';
export * from './values/shared.js';
export * from './values/sysctls.js';
