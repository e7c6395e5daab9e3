/** What the PLEG asks of the runtime manager, and what it tells whoever measures it. */
import type { ObservedPod, ObservedPodStatus } from '../../cri/index.js';

export interface PlegRuntime {
  /** Whether the agent itself is starting something right now, so that what starts is likely its own. */
  readonly isStarting?: boolean;
  listPods(): Promise<readonly ObservedPod[]>;
  listPod(uid: string): Promise<ObservedPod | undefined>;
  /** The pod in full; what was listed of it need not be listed again. */
  podStatus(uid: string, name: string, namespace: string, listed: ObservedPod): Promise<ObservedPodStatus>;
}

export interface PlegObserver {
  /** A look at everything ended with the inspections that it caused. */
  relisted(durationMs: number, sinceLastMs: number | undefined): void;
  podRelisted(durationMs: number): void;
  discarded(): void;
  observed(pods: readonly ObservedPod[]): void;
  /** Somebody asked for the health: the wall time at which the last successful look at everything began. */
  lastSeen(wallMs: number): void;
  /** The stream of runtime events stands. */
  eventsConnected(): void;
  /** The stream of runtime events could not be had, or broke. */
  eventsFailed(): void;
  /** A runtime event came so long after what it tells of. */
  eventReceived(latencyMs: number): void;
}
