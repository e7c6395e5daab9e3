/** One pod on one CRI runtime: planning, starting, killing and observing it. */
export type { SyncRequest } from './apply.js';
export { recordContainerEvent } from './container-events.js';
export * from './contracts.js';
export { crashLoopDefaults, crashLoopKey } from './crash-loop.js';
export { type GracePeriod, gracePeriod, minimumGracePeriodSeconds } from './grace.js';
export {
  type KillPodOptions,
  RuntimeManager,
  type RuntimeManagerOptions,
  type SyncPodOptions,
} from './manager.js';
export { type PlanInput, planPod } from './plan.js';
export * from './pod-plan.js';
export {
  effectiveRestartPolicy,
  matchingRestartRule,
  podRestartPolicy,
  type RestartPolicy,
  type RestartVerdict,
  restartDecision,
  triggersRestartAll,
} from './restart.js';
export { stubPod } from './restored-pod.js';
export { type SandboxVerdict, sandboxVerdict } from './sandbox-change.js';
export { PodSyncError, type PodSyncResult, syncError } from './sync-result.js';
export type { RuntimeVersion } from './version.js';
