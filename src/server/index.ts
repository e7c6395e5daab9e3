/**
 * The kubelet's HTTP API: the main port, the read-only port, the health port, the local socket, and their pod
 * routes.
 */
export { type ApiKubelet, type ApiOptions, podRoutes } from './api/index.js';
export type { HealthCheck, ServerKubelet } from './contracts.js';
export { defaultLimits, type ListenLimits } from './limits.js';
export type { ListenOptions, ServerListener } from './listen.js';
export {
  type LocalInfo,
  type LocalKubelet,
  type LocalServerOptions,
  SocketInUse,
  type SocketRoute,
  type StopPodsRequest,
  serveSocket,
  startLocalServer,
} from './local/index.js';
export { LogHealth } from './log-health.js';
export type { KubeletApiOptions, MainKubelet } from './main/contracts.js';
export { startKubeletApi } from './main/kubelet-api.js';
export { runningPodsRoute } from './pods.js';
export { type ReadonlyServerOptions, startHealthz, startReadOnly } from './readonly.js';
export { type CaBundle, readCaBundle } from './tls/ca-bundle.js';
export type { ServingKeyPair } from './tls/secure-serving.js';
