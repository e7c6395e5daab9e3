/** Connects to an API server and creates clients that share its connections and differ in their limits. */
import type { Clock } from '../async/index.js';
import type { Tracer } from '../tracing/index.js';
import { type Credentials, credentialsOf } from './credentials.js';
import { HttpKubeApi } from './http-api.js';
import type { ClusterAccess } from './kubeconfig.js';
import { type ApiRequestMetrics, createApiRequestMetrics } from './metrics.js';
import type { KubeApi } from './port.js';
import { TokenBucket } from './rate-limiter.js';
import { Transport } from './transport.js';

export interface KubeConnectionOptions {
  readonly clock: Clock;
  readonly access: ClusterAccess;
  /** Replaces the kubeconfig's own, for a certificate that is managed here. */
  readonly credentials?: Credentials;
  readonly userAgent: string;
  /** Default: metrics that nobody reads. */
  readonly metrics?: ApiRequestMetrics;
  /** Default: requests are no spans. */
  readonly tracer?: Tracer;
  /** See `KubeApi.streamsLists`. Default: no. */
  readonly streamsLists?: boolean;
  /** Called for files that became unusable while older content is still in use. */
  readonly onProblem?: (message: string) => void;
}

export interface KubeClientLimits {
  /** Absent: no limit. */
  readonly rate?: { readonly qps: number; readonly burst: number };
  readonly timeoutMs?: number;
}

export interface KubeConnection {
  readonly host: string;
  client(limits?: KubeClientLimits): KubeApi;
  /**
   * For when the server seems dead or our identity changed: uses new connections from now on and cuts
   * watches.
   */
  resetConnections(): void;
  close(): void;
}

export function connectKubeApi(options: KubeConnectionOptions): KubeConnection {
  const { clock, access, userAgent, metrics = createApiRequestMetrics() } = options;
  const report = options.onProblem === undefined ? {} : { onProblem: options.onProblem };
  const transport = new Transport({
    clock,
    endpoint: access.endpoint,
    credentials: options.credentials ?? credentialsOf({ clock, access, metrics, ...report }),
    userAgent,
    metrics,
    ...report,
  });
  let clients = 0;
  return {
    host: transport.host,
    client: ({ rate, timeoutMs } = {}) => {
      // The first one opens the connections, which is counted there; the others share them.
      if (clients++ > 0) metrics.transportCalls.inc({ result: 'hit' });
      return new HttpKubeApi({
        clock,
        transport,
        ...(rate === undefined ? {} : { limiter: new TokenBucket({ clock, ...rate }) }),
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
        metrics,
        ...(options.tracer === undefined ? {} : { tracer: options.tracer }),
        ...(options.streamsLists === undefined ? {} : { streamsLists: options.streamsLists }),
      });
    },
    resetConnections: () => transport.resetConnections(),
    close: () => transport.close(),
  };
}
