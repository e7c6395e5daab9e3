/** Kubernetes objects: their types, how to read them from text, default and validate them. */

export * from './cgroupunits.js';
export * from './claims.js';
export * from './containerid.js';
export * from './decode.js';
export * from './deepequal.js';
export * from './defaults.js';
export * from './document.js';
export * from './document-limits.js';
export * from './downward.js';
export * from './goformat.js';
export * from './imagename.js';
export * from './ipaddress.js';
export { JsonProblem, type JsonTextLimits, parseJson } from './json-text.js';
export * from './labelselector.js';
export * from './nodeselector.js';
export * from './object-readers.js';
export * from './object-store.js';
export * from './podhash.js';
export * from './podnames.js';
export {
  aggregateContainers,
  aggregatePod,
  isPodLevelResource,
  podLimits,
  podRequests,
} from './podresourcedefaults.js';
export * from './problem.js';
export * from './qos.js';
export * from './quantity.js';
export * from './references.js';
export * from './restartpolicy.js';
export * from './staticpods.js';
export type * from './types.js';
export { type FieldError, formatFieldError, formatFieldErrors } from './validation/fielderrors.js';
export { objectDataLimitBytes, type StandaloneObject, validateObject } from './validation/objects.js';
export * from './validation.js';
