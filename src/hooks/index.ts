/** Lifecycle hooks: what runs right after a container has started and right before it is stopped. */
export { createLifecycleHooks, HookFailure, type LifecycleHooksOptions } from './lifecycle-hooks.js';
