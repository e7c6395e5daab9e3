/** The worker of one pod: its state, the work that waits for it, and the work that it did last. */
import type { Pod } from '../../kube/index.js';
import type { PodState, WorkState } from './pod-state.js';
import type { PodWork, UpdateType } from './types.js';

/** The worker of one pod. */
export interface Worker {
  readonly uid: string;
  /** `<name>_<namespace>`: the key by which static pods of the same name take turns. */
  readonly fullName: string;
  state: PodState;
  /** At most one work waits; newer work replaces it. */
  pending: PodWork | undefined;
  /** A static pod keeps its work and sleeps until its turn may have come. */
  awaitsTurn: boolean;
  /** The work that was handed to the syncer last, kept so that it can be replayed. */
  active: PodWork | undefined;
  /** Cancels the step that runs; made anew once it was used. */
  cancellation: AbortController | undefined;
  /** When the last step ended that changed something; the next step wants an observation that is newer. */
  lastStepEndedAtMs: number;
  /** Whether the last step failed, so that its recovery is worth telling. */
  lastStepFailed: boolean;
}

/** One step of the syncer: the work, in the state that the pod had when the step began. */
export interface WorkerStep {
  readonly state: WorkState;
  readonly work: PodWork;
  readonly signal: AbortSignal;
}

export function newWorker(uid: string, fullName: string, state: PodState): Worker {
  return {
    uid,
    fullName,
    state,
    pending: undefined,
    awaitsTurn: false,
    active: undefined,
    cancellation: undefined,
    lastStepEndedAtMs: Number.NEGATIVE_INFINITY,
    lastStepFailed: false,
  };
}

export function podOf(work: PodWork | undefined): Pod | undefined {
  return work?.kind === 'pod' ? work.pod : undefined;
}

export function typeOf(work: PodWork): UpdateType {
  return work.kind === 'pod' ? work.type : 'kill';
}

/** The work to replay: the newest, with the grace period that was decided last. */
export function mergedWork(active: PodWork | undefined, work: PodWork): PodWork {
  if (work.kind !== 'pod' || active?.kind !== 'pod') return work;
  return { ...work, graceSeconds: work.graceSeconds ?? active.graceSeconds };
}
