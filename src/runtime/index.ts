/** One pod on one CRI runtime: planning, starting, killing and observing it. */
export type { SyncRequest } from './apply.js';
export { recordContainerEvent } from './container-events.js';
export * from './contracts.js';
export { type CrashLoopSettings, crashLoopDelays, crashLoopKey } from './crash-loop.js';
export { type GracePeriod, gracePeriod, minimumGracePeriodSeconds } from './grace.js';
export {
  type KillPodOptions,
  RuntimeManager,
  type RuntimeManagerOptions,
  type SyncPodOptions,
} from './manager.js';
export { type PlanInput, planPod } from './plan.js';
export * from './pod-plan.js';
export { type RestartVerdict, restartDecision } from './restart.js';
export { stubPod } from './restored-pod.js';
export { type RuntimeClassSource, runtimeHandlerOf } from './runtime-class.js';
export { PodSyncError, type PodSyncResult, syncError } from './sync-result.js';
export type { RuntimeVersion } from './version.js';
