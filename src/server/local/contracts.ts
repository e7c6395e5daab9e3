/** What the local socket serves besides the kubelet API, and its dependencies. */
import type { Clock } from '../../async/index.js';
import type { StatsProvider } from '../../resources/stats/index.js';
import type { PodRef, Timeline } from '../../timeline/index.js';
import type { ListenLimits } from '../limits.js';

export interface StopPodsRequest {
  /** Empty: all pods, and the process that runs them. */
  readonly pods: readonly PodRef[];
  /** Overrides each pod's own; 0 kills at once. */
  readonly gracePeriodSeconds?: number;
}

export interface LocalServerOptions {
  /** A missing directory is created, for this user alone. */
  readonly socketPath: string;
  readonly timeline: Timeline;
  /**
   * Resolves when the requested stop is done. When everything stops, the listener may close before: clients
   * see the connection end and wait for the socket to disappear.
   */
  readonly stop: (request: StopPodsRequest, signal: AbortSignal) => Promise<void>;
  /** Added to the server's own values in `GET /api/info`. */
  readonly info?: Readonly<Record<string, string | number | boolean>>;
  /** What the node and its pods use; absent: no statistics are served. */
  readonly stats?: StatsProvider;
  /** Of Kubernetes, for the statistics. */
  readonly version?: string;
  readonly clock?: Clock;
  readonly limits?: Partial<ListenLimits>;
}

/** The response of `GET /api/info`. */
export interface LocalInfo {
  readonly pid: number;
  readonly nodeName: string;
  /** RFC 3339. */
  readonly startedAt: string;
  readonly socketPath: string;
  readonly [more: string]: string | number | boolean;
}
