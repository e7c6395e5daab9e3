/** What the pod routes need from the kubelet, on whatever port. */

import type { Clock } from '../../async/index.js';
import type { CriRuntime, ObservedPod } from '../../cri/index.js';
import type { Pod } from '../../kube/index.js';
import type { KeptLog } from '../../runtime-manager/logs/index.js';
import type { Timeline } from '../../timeline/index.js';
import type { StreamMetrics } from '../metrics.js';

export interface ApiKubelet {
  /** The pods of this node with their current status, without mirror pods. */
  pods(): readonly Pod[];
  /** The pods that the runtime lists as running. */
  runningPods(): Promise<readonly ObservedPod[]>;
  readonly runtime: Pick<CriRuntime, 'containerStatus' | 'execSync' | 'exec' | 'attach' | 'portForward'>;
  /** The log of a container whose runtime writes no file; undefined: read the file. */
  keptLog?(containerId: string): KeptLog | undefined;
  readonly clock: Clock;
  readonly timeline: Timeline;
}

export interface ApiOptions {
  /** Whether a request may select one stream of a log (PodLogsQuerySplitStreams). Default: no. */
  readonly splitLogStreams?: boolean;
  /**
   * Whether to translate for WebSocket clients that runtimes do not support (ExtendWebSocketsToKubelet).
   * Default: no.
   */
  readonly translateStreams?: boolean;
  /** Counts translated requests. Default: metrics that nobody reads. */
  readonly metrics?: StreamMetrics;
}
