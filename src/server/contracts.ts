/** What the HTTP servers need of the kubelet. */
import type { ObservedPod } from '../cri/index.js';
import type { Pod } from '../kube/index.js';
import type { StatsProvider } from '../resources/stats/index.js';

/** The listeners, as the timeline names them. */
export type ServerName = 'main' | 'readonly' | 'healthz' | 'local';

export interface HealthCheck {
  readonly name: string;
  /** Why it is unhealthy; undefined while it is well. */
  check(): string | undefined;
}

export interface ServerKubelet {
  /** The pods of this node with their current status; mirror pods are left out, their static pods stand for them. */
  pods(): readonly Pod[];
  /** What the runtime lists; entries that do not run are left out of the answer. */
  runningPods(): Promise<readonly ObservedPod[]>;
  metricsText(): string;
  /** The metrics of probes, of which there are some for each. */
  probeMetricsText(): string;
  /** In the order in which `/healthz` shows them, after `ping` and `log`, which the server has itself. */
  readonly healthChecks: readonly HealthCheck[];
  /** What the node and its pods use; without it nothing tells of that. */
  readonly stats?: StatsProvider | undefined;
}
