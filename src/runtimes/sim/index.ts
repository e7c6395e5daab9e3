/** The simulated runtime. */
export type { SimExec, SimExecCall, SimExecResult } from './exec.js';
export type { CriFault, FaultPlan, FaultVerdict } from './faults.js';
export type { SimImage, SimImages } from './images.js';
export type { SimCondition, SimConditionName, SimRuntimeOptions } from './machine.js';
export type { SimLogLine, SimMemoryLog } from './memory-log.js';
export type { SimProbeAnswer, SimProbeRequest } from './probe-answers.js';
export { SimRuntime } from './runtime.js';
export { simAnnotationPrefix } from './script.js';
export type { SimUsage } from './stats.js';
export type { SimContainer, SimObserver, SimSandbox } from './store.js';
export type { SimPortCall, SimPortForward } from './streams.js';
