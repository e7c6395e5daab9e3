/** Metrics in Prometheus text form. */
export * from './registry.js';
