/** One worker per pod: its state machine, its order and its questions. */
export { nothingRuns } from './accept-update.js';
export * from './kill-and-wait.js';
export type { PodState, WorkState } from './pod-state.js';
export { outcomeOfError } from './requeue.js';
export * from './types.js';
export * from './workers.js';
