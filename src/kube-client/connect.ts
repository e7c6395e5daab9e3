/** Opens the way to an API server and gives out clients that share its connections and differ in their limits. */
import type { Clock } from '../async/index.js';
import { type Credentials, credentialsOf } from './credentials.js';
import { HttpKubeApi, type RequestObserver } from './http-api.js';
import type { ClusterAccess } from './kubeconfig.js';
import type { KubeApi } from './port.js';
import { TokenBucket } from './rate-limiter.js';
import { Transport } from './transport.js';

export interface KubeConnectionOptions {
  readonly clock: Clock;
  readonly access: ClusterAccess;
  /** Instead of the kubeconfig's own, for one whose certificate is managed here. */
  readonly credentials?: Credentials;
  readonly userAgent: string;
  readonly observer?: RequestObserver;
  /** Told of files that cannot be used any more while older content still is. */
  readonly onProblem?: (message: string) => void;
}

export interface KubeClientLimits {
  /** Left out: no limit. */
  readonly rate?: { readonly qps: number; readonly burst: number };
  readonly timeoutMs?: number;
}

export interface KubeConnection {
  readonly host: string;
  client(limits?: KubeClientLimits): KubeApi;
  /** For when the server seems dead or our identity changed: new connections from now on, watches are cut. */
  resetConnections(): void;
  close(): void;
}

export function connectKubeApi(options: KubeConnectionOptions): KubeConnection {
  const { clock, access, userAgent, observer } = options;
  const report = options.onProblem === undefined ? {} : { onProblem: options.onProblem };
  const transport = new Transport({
    clock,
    endpoint: access.endpoint,
    credentials: options.credentials ?? credentialsOf({ clock, access, ...report }),
    userAgent,
    ...report,
  });
  return {
    host: transport.host,
    client: ({ rate, timeoutMs } = {}) =>
      new HttpKubeApi({
        clock,
        transport,
        ...(rate === undefined ? {} : { limiter: new TokenBucket({ clock, ...rate }) }),
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
        ...(observer === undefined ? {} : { observer }),
      }),
    resetConnections: () => transport.resetConnections(),
    close: () => transport.close(),
  };
}
