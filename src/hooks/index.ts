/** Lifecycle hooks: postStart and preStop. */
export { createLifecycleHooks, HookFailure, type LifecycleHooksOptions } from './lifecycle-hooks.js';
export { createHookMetrics, type HookMetrics } from './metrics.js';
