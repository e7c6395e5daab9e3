/** The flight recorder and its readers. */

export { clockTime } from './clock-time.js';
export { type DiskRing, openDiskRing, readDiskRing, type StoredEntries } from './disk-ring.js';
export * from './entry.js';
export * from './entry-data.js';
export { type ExplainedStep, type Explanation, explainPod } from './explain.js';
export { explanationText, stepLine } from './explain-text.js';
export * from './log.js';
export { type PlanAction, type PlanStep, planText } from './plan-actions.js';
export { type PlanReason, planReasonText, type SandboxReason } from './plan-reasons.js';
export type { VolumeStep } from './pod-entries.js';
export { refusalRemedy } from './refusals.js';
export * from './timeline.js';
