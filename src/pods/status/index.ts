/** Pod statuses: generates a pod's API status, and manages the current ones. */
export { hostIpsOf } from './addresses.js';
export { canBeDeletedFromApi, type MergeInput, mergeForApi } from './api-merge.js';
export { findCondition, hasTrueCondition, withCondition } from './condition-list.js';
export { needsReadinessReconcile, readyToStartCondition } from './conditions.js';
export { quotaToMillis } from './container-resources.js';
export { statusEqual } from './equal.js';
export { type GenerateInput, generatePodStatus } from './generate.js';
export {
  type StatusListener,
  StatusManager,
  type StatusManagerOptions,
  type UpdateOutcome,
  type VersionedStatus,
} from './manager.js';
export { normalizeStatus } from './normalize.js';
export {
  applyKiller,
  deadlineExceededMessage,
  deadlineExceededReason,
  isPastActiveDeadline,
  type Killer,
  rejectedStatus,
} from './overrides.js';
export { aggregatePodLimits, aggregatePodRequests, type PodCgroupResources } from './pod-resources.js';
export type { ProbeView } from './readiness.js';
export { type ContainerStartFailure, ReasonCache, type StartResult } from './reason-cache.js';
export { isRestartable, isRestartingAll } from './restartable.js';
