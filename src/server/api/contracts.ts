/** What the pod routes of the kubelet API need of the kubelet, whatever port they are served on. */
import type { Clock } from '../../async/index.js';
import type { CriRuntime, ObservedPod } from '../../cri/index.js';
import type { Pod } from '../../kube/index.js';
import type { Timeline } from '../../timeline/index.js';

export interface ApiKubelet {
  /** The pods of this node with their current status; mirror pods are left out. */
  pods(): readonly Pod[];
  /** What the runtime lists as running. */
  runningPods(): Promise<readonly ObservedPod[]>;
  readonly runtime: Pick<CriRuntime, 'containerStatus' | 'execSync' | 'exec' | 'attach' | 'portForward'>;
  readonly clock: Clock;
  readonly timeline: Timeline;
}

export interface ApiOptions {
  /** Whether one stream of a log may be asked for (PodLogsQuerySplitStreams). Default: no. */
  readonly splitLogStreams?: boolean;
  /** Whether WebSocket clients are understood here that runtimes do not understand (ExtendWebSocketsToKubelet). Default: no. */
  readonly translateStreams?: boolean;
  /** Told of each request that is translated. */
  readonly onTranslated?: (subresource: 'exec' | 'attach' | 'portforward') => void;
}
