/** Lifecycle hooks: postStart and preStop. */
export { createLifecycleHooks, HookFailure, type LifecycleHooksOptions } from './lifecycle-hooks.js';
