/** What the local socket serves besides the kubelet API, and who does it. */
import type { Clock } from '../../async/index.js';
import type { PodRef, Timeline } from '../../timeline/index.js';
import type { ListenLimits } from '../limits.js';

export interface StopRequest {
  /** Empty: all pods, and with them whoever runs them. */
  readonly pods: readonly PodRef[];
  /** Instead of what each pod says; 0 kills at once. */
  readonly gracePeriodSeconds?: number;
}

export interface LocalServerOptions {
  /** Its folder is made if it is missing, for this user alone. */
  readonly socketPath: string;
  readonly timeline: Timeline;
  /**
   * Resolves when what was asked to stop has stopped. When everything stops, the listener may be closed before:
   * clients see the end of the connection and wait for the socket to go.
   */
  readonly stop: (request: StopRequest, signal: AbortSignal) => Promise<void>;
  /** Shown by `GET /api/info` besides what the server knows itself. */
  readonly info?: Readonly<Record<string, string | number | boolean>>;
  readonly clock?: Clock;
  readonly limits?: Partial<ListenLimits>;
}

/** What `GET /api/info` answers. */
export interface LocalInfo {
  readonly pid: number;
  readonly nodeName: string;
  /** RFC 3339. */
  readonly startedAt: string;
  readonly socketPath: string;
  readonly [more: string]: string | number | boolean;
}
