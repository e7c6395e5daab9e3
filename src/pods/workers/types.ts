/** What pod workers are asked to do, and the interfaces through which they reach the rest. */
import type { ObservedPod, ObservedPodStatus } from '../../cri/index.js';
import type { Pod, PodStatus } from '../../kube/index.js';

export type UpdateType = 'create' | 'update' | 'sync' | 'kill';

/** Changes the status that is reported for a pod while it is being killed (eviction, preemption, shutdown). */
export type StatusOverride = (status: PodStatus) => void;

export interface KillOptions {
  /** Called once all containers of the pod have stopped. */
  readonly onCompleted?: () => void;
  /** The kill evicts the pod: its content may be removed at once. */
  readonly evict?: boolean;
  readonly statusOverride?: StatusOverride;
  readonly graceOverrideSeconds?: number;
}

/** A change that a worker must make real. Either `pod` or, for pods seen only in the runtime, `runtimePod` is set. */
export interface PodUpdate {
  readonly type: UpdateType;
  /** Monotonic milliseconds at which the change was seen; for the latency metric only. */
  readonly startMs?: number;
  readonly pod?: Pod;
  readonly mirror?: Pod;
  readonly runtimePod?: ObservedPod;
  readonly kill?: KillOptions;
}

/** sync: may run containers; terminating: must stop them; terminated: they are stopped, the rest must go. */
export type WorkState = 'sync' | 'terminating' | 'terminated';

export interface SyncRequest {
  readonly type: UpdateType;
  readonly pod: Pod;
  readonly mirror: Pod | undefined;
  readonly status: ObservedPodStatus;
  /** Aborted when termination begins or the grace period shrinks. */
  readonly signal: AbortSignal;
}

export interface SyncOutcome {
  /** The pod reached its end by itself and must be torn down. */
  readonly terminal: boolean;
  /** Since when nothing is done to the pod any more, so that what was observed later holds; default the step's end. */
  readonly settledAtMs?: number;
  /** Run after the worker noted the end of the sync. */
  readonly after?: () => void;
}

export interface TerminatingRequest {
  readonly pod: Pod;
  readonly status: ObservedPodStatus;
  /** Absent: the pod's own grace period. */
  readonly graceSeconds: number | undefined;
  readonly statusOverride: StatusOverride | undefined;
  /** Aborted when the grace period shrinks; the next request has the shorter one. */
  readonly signal: AbortSignal;
}

/** The transaction that each step of a pod's life runs. Errors mean: try again later. */
export interface PodSyncer {
  syncPod(request: SyncRequest): Promise<SyncOutcome>;
  syncTerminatingPod(request: TerminatingRequest): Promise<Required<Pick<SyncOutcome, 'settledAtMs'>>>;
  syncTerminatingRuntimePod(runtimePod: ObservedPod): Promise<void>;
  syncTerminatedPod(request: { pod: Pod; status: ObservedPodStatus; signal: AbortSignal }): Promise<void>;
}

/** Where workers read what the runtime shows of a pod. */
export interface PodStatusSource {
  /** What is known now; an unknown pod has an empty status. */
  peek(uid: string): { readonly status: ObservedPodStatus } | { readonly error: Error };
  /** Waits for a status observed after the given monotonic time; rejects when observing failed. */
  newerThan(uid: string, afterMs: number, signal: AbortSignal): Promise<ObservedPodStatus>;
}

/** Told of what is worth measuring. */
export interface WorkerObserver {
  workDone(type: UpdateType | 'terminated', durationMs: number): void;
  podStarted(containers: number): void;
}

/** What SyncKnownPods tells of a worker that goes on. */
export interface KnownWorker {
  readonly state: WorkState;
  readonly orphan: boolean;
  readonly hasConfig: boolean;
  readonly isStatic: boolean;
}
