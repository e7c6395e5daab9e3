/** Gives containers of Guaranteed pods CPUs of their own, and keeps all others away from these. */
export { CpuManager, type CpuManagerOptions, type CpuManagerPods } from './cpu-manager.js';
export { type CpuState, exclusiveCpus } from './cpu-state.js';
export { createCpuManagerMetrics } from './metrics.js';
export {
  CpuManagerConfigError,
  type CpuManagerGates,
  checkSocketAlignment,
  readStaticPolicyOptions,
  refuseOptions,
} from './policy-options.js';
export { CpuReconciler, type CpuReconcilerOptions } from './reconcile-cpus.js';
export type { RunningCpus } from './start-state.js';
export { CpuStateFile } from './state-file.js';
export { type CpuReservation, createStaticPolicy, type StaticPolicy } from './static-policy.js';
