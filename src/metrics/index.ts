/** Metrics in Prometheus text form. */
export { registerProcessMetrics, registerStartTime } from './process.js';
export * from './registry.js';
