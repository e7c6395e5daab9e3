/** What pods were given, and the decisions about pods that ask for something else. */
export { type AllocationMetrics, createAllocationMetrics } from '../metrics.js';
export * from './allocated-pod.js';
export * from './allocated-resources.js';
export * from './effective-requests.js';
export * from './feasibility.js';
export * from './resize-conditions.js';
export * from './resize-events.js';
export * from './resize-queue.js';
