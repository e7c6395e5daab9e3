/** Metrics in Prometheus text form. */
export * from './component.js';
export type { Stability } from './help-text.js';
export { NativeBuckets, zeroThreshold } from './native-buckets.js';
export { registerProcessMetrics, registerStartTime } from './process.js';
export * from './registry.js';
export { createWorkQueueMetrics, WorkQueueWatch } from './work-queue.js';
