/** Startup, liveness and readiness probes: their workers and results. */
export {
  type GrpcCheck,
  type GrpcHealthResult,
  type ProbeCallLimits,
  type ProbeKind,
  type ProbeNetwork,
  type ProbeRun,
  probeUserAgent,
  type TcpAddress,
} from './contracts.js';
export { ProbeManager, type ProbeManagerOptions } from './manager.js';
export { createProbeMetrics, type ProbeMetrics } from './metrics.js';
export { systemNetwork } from './network.js';
export { type ProbeConclusion, Prober, type ProberOptions } from './prober.js';
export type { ProbeUpdate } from './results.js';
