/** What the PLEG needs from the runtime manager. */
import type { ObservedPod, ObservedPodStatus } from '../../cri/index.js';

/** The ids of a pod's sandboxes and containers, and the sandbox of each container. */
export interface PodParts {
  readonly sandboxIds: readonly string[];
  readonly containers: readonly { readonly id: string; readonly sandboxId: string }[];
}

/** A pod as a list would show it, and its full status. */
export interface ReadPod {
  readonly pod: ObservedPod;
  readonly status: ObservedPodStatus;
}

export interface PodReader {
  /** What the agent created for the pod and no relist has shown yet. */
  unseen(podUid: string): PodParts;
  /** A relist that began with these unseen creations has shown the pod. */
  seen(podUid: string, creations: PodParts): void;
  /** Reads the pod by its ids; undefined when one of them is missing or belongs to another pod. */
  read(podUid: string, parts: PodParts, signal: AbortSignal): Promise<ReadPod | undefined>;
}

export interface PlegRuntime {
  /** Whether the agent is starting something, so that an unknown start is probably its own. */
  readonly isStarting?: boolean;
  /** Whether pods are queued to start or stop; work that can be deferred should be. */
  readonly podsWait?: boolean;
  /** Whether the agent is stopping the whole pod; the stop relists the pod when it is done. */
  isEnding?(podUid: string): boolean;
  listPods(): Promise<readonly ObservedPod[]>;
  listPod(uid: string): Promise<ObservedPod | undefined>;
  /** Reads pods by known ids without a list; without this, every relist lists. */
  readonly byId?: PodReader;
  /** The pod's full status; `listed` need not be listed again. */
  podStatus(uid: string, name: string, namespace: string, listed: ObservedPod): Promise<ObservedPodStatus>;
}
