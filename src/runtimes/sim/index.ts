/** The simulated runtime. */
export type { SimExec, SimExecCall, SimExecResult } from './exec.js';
export type { CriFault, FaultPlan, FaultVerdict } from './faults.js';
export type { SimImage, SimImages } from './images.js';
export type { SimCondition, SimConditionName, SimRuntimeOptions } from './machine.js';
export { SimRuntime } from './runtime.js';
export { simAnnotationPrefix } from './script.js';
export type { SimPortCall, SimPortForward } from './streams.js';
