/** What the HTTP servers need from the kubelet. */

import type { ObservedPod } from '../cri/index.js';
import type { Pod } from '../kube/index.js';
import type { NativeBuckets, Registry } from '../metrics/index.js';
import type { StatsProvider } from '../resources/stats/index.js';

/** The listeners, as the timeline names them. */
export type ServerName = 'main' | 'readonly' | 'healthz' | 'local' | 'api' | 'page';

export interface HealthCheck {
  readonly name: string;
  /** Why it is unhealthy; undefined while it is healthy. */
  check(): string | undefined;
}

export interface ServerKubelet {
  /** The pods of this node with their current status; static pods stand for their mirror pods. */
  pods(): readonly Pod[];
  /** What the runtime lists; the response leaves out what is not running. */
  runningPods(): Promise<readonly ObservedPod[]>;
  /** With all that a scrape waits for. */
  metricsText(): string | Promise<string>;
  /** The metrics of probes, which have some for each probe. */
  probeMetricsText(): string;
  /** Their histograms in narrow buckets, by series; absent: there are none. */
  probeHistograms?(): ReadonlyMap<string, NativeBuckets>;
  /** In the order of `/healthz`, after the server's own `ping` and `log`. */
  readonly healthChecks: readonly HealthCheck[];
  /** Receives the metrics of requests; absent: they are not counted. */
  readonly registry?: Registry | undefined;
  /** What the node and its pods use; absent: no statistics are served. */
  readonly stats?: StatsProvider | undefined;
}
