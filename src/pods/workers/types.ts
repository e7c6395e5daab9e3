/** What pod workers are asked to do, and the interfaces through which they reach the rest. */
import type { ObservedPod, ObservedPodStatus } from '../../cri/index.js';
import type { Pod, PodStatus } from '../../kube/index.js';
import type { WorkState } from './pod-state.js';

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

/** A change of a configured pod, or a pod of the runtime that nobody configured: what a worker must make real. */
export type PodUpdate = PodChange | PodKillUpdate | RuntimePodKill;

interface ConfiguredPodUpdate {
  readonly pod: Pod;
  readonly mirror?: Pod;
  /** Monotonic milliseconds at which the change was seen; for the latency metric only. */
  readonly startMs?: number;
}

export interface PodChange extends ConfiguredPodUpdate {
  readonly type: 'create' | 'update' | 'sync';
}

export interface PodKillUpdate extends ConfiguredPodUpdate {
  readonly type: 'kill';
  readonly kill?: KillOptions;
}

/** Ends a pod that the runtime shows and nobody has configured. */
export interface RuntimePodKill {
  readonly type: 'killRuntimePod';
  readonly runtimePod: ObservedPod;
  readonly startMs?: number;
  readonly kill?: KillOptions;
}

/** What a worker has to do next, or did last: a configured pod, or one that only the runtime knows. */
export type PodWork = ConfiguredWork | RuntimeWork;

export interface ConfiguredWork {
  readonly kind: 'pod';
  readonly type: UpdateType;
  readonly pod: Pod;
  readonly mirror: Pod | undefined;
  /** Undefined: the pod's own grace period. */
  readonly graceSeconds: number | undefined;
  readonly startMs: number | undefined;
}

export interface RuntimeWork {
  readonly kind: 'runtimePod';
  readonly runtimePod: ObservedPod;
  readonly startMs: number | undefined;
}

export interface SyncRequest {
  readonly type: UpdateType;
  readonly pod: Pod;
  readonly mirror: Pod | undefined;
  readonly status: ObservedPodStatus;
  /** Aborted when termination begins or the grace period shrinks. */
  readonly signal: AbortSignal;
}

/** What a step of a pod's life came to. */
export type SyncOutcome =
  | {
      readonly kind: 'done';
      /** A sync found that the pod reached its end by itself and must be torn down. */
      readonly terminal: boolean;
      /** Since when nothing is done to the pod any more, so that what was observed later holds; default the step's end. */
      readonly settledAtMs?: number;
      /** The step changed nothing that can be observed, so that what it went by holds for the next one, too. */
      readonly isUnchanged?: boolean;
      /** Run after the worker noted the end of the step. */
      readonly after?: () => void;
    }
  | ({ readonly kind: 'retry'; readonly error: unknown } & RetryWhen)
  /** Cancelled, not failed: a newer update is queued. */
  | { readonly kind: 'cancelled' };

/** When a step is tried again, and why then. */
export type RetryWhen =
  /** All that is left to do is to wait, until this wall-clock time. */
  | { readonly reason: 'backOff'; readonly atMs: number }
  /** Likely to be over soon: a network that comes up, a runtime that is restarted. */
  | { readonly reason: 'networkNotReady' | 'runtimeUnavailable' }
  | { readonly reason: 'error' };

export interface TerminatingRequest {
  readonly pod: Pod;
  readonly status: ObservedPodStatus;
  /** Absent: the pod's own grace period. */
  readonly graceSeconds: number | undefined;
  readonly statusOverride: StatusOverride | undefined;
  /** Aborted when the grace period shrinks; the next request has the shorter one. */
  readonly signal: AbortSignal;
}

/** The transaction that each step of a pod's life runs. A step that throws is tried again as after any error. */
export interface PodSyncer {
  syncPod(request: SyncRequest): Promise<SyncOutcome>;
  syncTerminatingPod(request: TerminatingRequest): Promise<SyncOutcome>;
  syncTerminatingRuntimePod(runtimePod: ObservedPod): Promise<SyncOutcome>;
  syncTerminatedPod(request: {
    pod: Pod;
    status: ObservedPodStatus;
    signal: AbortSignal;
  }): Promise<SyncOutcome>;
}

/** Where workers read what the runtime shows of a pod. */
export interface PodStatusSource {
  /** What is known now; an unknown pod has an empty status. */
  peek(uid: string): { readonly status: ObservedPodStatus } | { readonly error: Error };
  /** Waits for a status observed after the given monotonic time; rejects when observing failed. */
  newerThan(uid: string, afterMs: number, signal: AbortSignal): Promise<ObservedPodStatus>;
}

/** What SyncKnownPods tells of a worker that goes on. */
export interface KnownWorker {
  readonly state: WorkState;
  readonly orphan: boolean;
  readonly hasConfig: boolean;
  readonly isStatic: boolean;
}
