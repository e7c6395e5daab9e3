/** The kubelet's HTTP API: its pod routes for any port, the read-only port, the health port, and the local socket. */
export { type ApiKubelet, type ApiOptions, podRoutes } from './api/index.js';
export type { HealthCheck, ServerKubelet } from './contracts.js';
export { defaultLimits, type Listener, type ListenLimits, type ListenOptions } from './listen.js';
export {
  type LocalInfo,
  type LocalKubelet,
  type LocalServerOptions,
  SocketInUse,
  type StopRequest,
  startLocalServer,
} from './local/index.js';
export { runningPodsRoute } from './pods.js';
export { type StartOptions, startHealthz, startReadOnly } from './readonly.js';
