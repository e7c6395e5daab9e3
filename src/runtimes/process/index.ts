/** The process runtime: containers as host processes. */
export { containerIdVariable } from './container-state.js';
export { rootVariable } from './launch.js';
export type { ProcessRuntimeOptions } from './machine.js';
export { ProcessRuntime } from './runtime.js';
