/** What the PLEG asks of the runtime manager, and what it tells whoever measures it. */
import type { ObservedPod, ObservedPodStatus } from '../../cri/index.js';

/** The ids of what a pod has, and the sandbox of each container. */
export interface PodParts {
  readonly sandboxIds: readonly string[];
  readonly containers: readonly { readonly id: string; readonly sandboxId: string }[];
}

/** A pod as it would be listed, and in full. */
export interface ReadPod {
  readonly pod: ObservedPod;
  readonly status: ObservedPodStatus;
}

export interface ReadingById {
  /** What the agent has made for the pod and no look has shown yet. */
  unseen(podUid: string): PodParts;
  /** A look that began when these were the unseen ones has shown the pod. */
  seen(podUid: string, creations: PodParts): void;
  /** The pod by all that it has; undefined when a part of it is not there or another pod's. */
  read(podUid: string, parts: PodParts, signal: AbortSignal): Promise<ReadPod | undefined>;
}

export interface PlegRuntime {
  /** Whether the agent itself is starting something right now, so that what starts is likely its own. */
  readonly isStarting?: boolean;
  /** Whether pods wait for their turn to start or to end; what can wait for them should. */
  readonly podsWait?: boolean;
  /** Whether the agent is stopping the whole pod right now; who does that looks at it afterwards. */
  isEnding?(podUid: string): boolean;
  listPods(): Promise<readonly ObservedPod[]>;
  listPod(uid: string): Promise<ObservedPod | undefined>;
  /** How to do without a list where the ids of all that a pod has are known; without it every look lists. */
  readonly byId?: ReadingById;
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
