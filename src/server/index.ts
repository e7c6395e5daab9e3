/** The kubelet's HTTP API: for now the read-only port and the health port. */
export type { HealthCheck, ServerKubelet } from './contracts.js';
export { defaultLimits, type Listener, type ListenLimits, type ListenOptions } from './listen.js';
export { runningPodsRoute } from './pods.js';
export { type StartOptions, startHealthz, startReadOnly } from './readonly.js';
