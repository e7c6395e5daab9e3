/** One pod on one CRI runtime: planning, starting, killing and observing it. */
export type { RuntimeSyncRequest } from './apply.js';
export { recordContainerEvent } from './container-events.js';
export * from './contracts.js';
export { type GracePeriod, gracePeriod, minimumGracePeriodSeconds } from './kill/grace.js';
export { stubPod } from './kill/restored-pod.js';
export {
  type KillPodOptions,
  RuntimeManager,
  type RuntimeManagerOptions,
  type SyncPodOptions,
} from './manager.js';
export { createRuntimeMetrics, type RuntimeMetrics } from './metrics.js';
export type { RuntimeVersion } from './observe/version.js';
export type { BackOffView } from './plan/back-off.js';
export { isStranded, type PodPlanInput, planPod } from './plan/plan.js';
export * from './plan/pod-plan.js';
export { type RestartVerdict, restartDecision } from './plan/restart.js';
export type { Retry } from './retry.js';
export { type CrashLoopSettings, crashLoopDelays } from './start/crash-loop.js';
export { type LogFiles, machineLogFiles } from './start/log-files.js';
export { placedBy } from './start/placed.js';
export { type RuntimeClassSource, runtimeHandlerOf } from './start/runtime-class.js';
export { PodSyncError, type PodSyncResult, resizeFailure, syncError } from './sync-result.js';
