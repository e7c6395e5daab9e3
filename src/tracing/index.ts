/**
 * OpenTelemetry traces. This is what code that is traced needs; `recording/` keeps spans and exports them, and is loaded
 * only where tracing is on.
 */

export { forwardingTracer } from './forwarding-tracer.js';
export { traceLimits } from './limits.js';
export * from './trace-context.js';
export * from './tracer.js';
