/**
 * The states of a pod in its worker, and the transitions between them as pure functions.
 *
 *   first update    start            termination requested   acknowledged       containers stopped   resources released
 *        │            │                        │                  │                     │                    │
 *        ├─ waiting ──┼────── syncing ─────────┼────────── terminating ────────────────┼──── terminated ────┼── finished
 *        │            │                        │                  │                     │                    │
 *        │            ├─ containers may start ─┤                  │                     │                    │
 *        │            ├─ containers may run ───┼──────────────────┼─────────────────────┤                    │
 *        │                                     │                  ├─ none starts, all are being stopped ─────┤
 *        ├─ syncPod is called ─────────────────┤                  │                     │                    │
 *                                              ├─ syncTerminatingPod is called ────────┤                    │
 *                                                                                       ├─ syncTerminatedPod ┤
 *
 * Short cuts: a static pod that is stopped before its turn goes from waiting by terminating to finished and is never
 * handed to the syncer. A pod that was over before the agent saw it begins as terminated. A pod that only the runtime
 * knows begins as terminating and is forgotten after it. Nothing ever leads back: a pod that is created again under
 * its UID waits until the workers have forgotten the old one.
 */
import type { Pod } from '../../kube/index.js';
import { effectiveGrace } from './grace.js';
import type { StaticPodStart } from './static-order.js';
import type { StatusOverride } from './types.js';

export type PodState = Waiting | Syncing | Terminating | Terminated | Finished;

/** Not started: a static pod waits for its turn, any other for its worker. */
export interface Waiting {
  readonly kind: 'waiting';
}

/** Containers may start and run. */
export interface Syncing {
  readonly kind: 'syncing';
  readonly startedAtMs: number;
}

/** What is known of a termination for as long as the pod is. */
interface Termination {
  /** The pod's deletion, or its absence from the configuration, began the termination or was seen since. */
  readonly deleted: boolean;
  /** An eviction began the termination: the pod's content may be removed at once. */
  readonly evicted: boolean;
  /** The pod was created again meanwhile, and is started anew once this one is forgotten. */
  readonly restartRequested: boolean;
}

/** Containers must stop; whatever happens, the pod never syncs again. */
export interface Terminating extends Termination {
  readonly kind: 'terminating';
  /** Undefined: the pod has not started, or only the runtime knows it. */
  readonly startedAtMs: number | undefined;
  readonly terminatingAtMs: number;
  /** The worker has acknowledged the termination, so that no container starts any more. */
  readonly acknowledged: boolean;
  /** The runtime showed the pod when nobody had configured it. */
  readonly observedInRuntime: boolean;
  /** Undefined: none was asked for yet, and the pod's own counts. It only shrinks. */
  readonly graceSeconds: number | undefined;
  /** Called once all containers have stopped. */
  readonly onTerminated: readonly (() => void)[];
  /** The last one is used. */
  readonly statusOverrides: readonly StatusOverride[];
}

/** No container runs; volumes, cgroups and the rest must go. */
export interface Terminated extends Termination {
  readonly kind: 'terminated';
  readonly startedAtMs: number | undefined;
  readonly terminatedAtMs: number;
}

/** Nothing of the pod is left to do. */
export interface Finished extends Termination {
  readonly kind: 'finished';
  readonly terminatedAtMs: number;
  /** A static pod that was stopped before its turn. */
  readonly neverStarted: boolean;
}

/** The step of the syncer that a pod's state asks for. */
export type WorkState = 'sync' | 'terminating' | 'terminated';

export function workStateOf(state: PodState): WorkState {
  switch (state.kind) {
    case 'waiting':
    case 'syncing':
      return 'sync';
    case 'terminating':
      return 'terminating';
    case 'terminated':
    case 'finished':
      return 'terminated';
  }
}

/** Whether the pod has been asked to end. */
export function isEnding(state: PodState): state is Terminating | Terminated | Finished {
  return state.kind !== 'waiting' && state.kind !== 'syncing';
}

/** A pod that was over before the agent saw it: only what is left of it must be cleaned up. */
export function terminatedBefore(nowMs: number): Terminated {
  return {
    kind: 'terminated',
    startedAtMs: undefined,
    terminatedAtMs: nowMs,
    deleted: false,
    evicted: false,
    restartRequested: false,
  };
}

export interface TerminationCause {
  readonly deleted?: boolean;
  readonly evicted?: boolean;
  readonly observedInRuntime?: boolean;
  readonly acknowledged?: boolean;
  readonly graceSeconds?: number | undefined;
}

export function beginTermination(
  state: Waiting | Syncing,
  cause: TerminationCause,
  nowMs: number,
): Terminating {
  return {
    kind: 'terminating',
    startedAtMs: state.kind === 'syncing' ? state.startedAtMs : undefined,
    terminatingAtMs: nowMs,
    acknowledged: cause.acknowledged ?? false,
    observedInRuntime: cause.observedInRuntime ?? false,
    deleted: cause.deleted ?? false,
    evicted: cause.evicted ?? false,
    restartRequested: false,
    graceSeconds: cause.graceSeconds,
    onTerminated: [],
    statusOverrides: [],
  };
}

/** What becomes of a pod whose worker takes up its first work. */
export function begin(
  state: Waiting | Terminating | Terminated,
  turn: StaticPodStart,
  nowMs: number,
): PodState {
  if (turn === 'wait') return state;
  if (turn === 'start') {
    return state.kind === 'waiting'
      ? { kind: 'syncing', startedAtMs: nowMs }
      : { ...state, startedAtMs: nowMs };
  }
  const { deleted, evicted, restartRequested } =
    state.kind === 'waiting' ? { deleted: false, evicted: false, restartRequested: false } : state;
  return { kind: 'finished', terminatedAtMs: nowMs, neverStarted: true, deleted, evicted, restartRequested };
}

/** The worker is about to stop the pod's containers. */
export function acknowledge(state: Terminating): Terminating {
  return state.acknowledged ? state : { ...state, acknowledged: true };
}

/** What the end of a step makes of a pod. */
export type StepEnd =
  /** A sync found that the pod has come to its end by itself. */
  'reachedEnd' | 'containersStopped' | 'resourcesReleased';

/** The state after a step that went well. Another update may have moved the pod on while the step ran. */
export function afterStep(state: PodState, end: StepEnd, nowMs: number): PodState {
  switch (state.kind) {
    case 'waiting':
    case 'syncing':
      return end === 'reachedEnd' ? beginTermination(state, { acknowledged: true }, nowMs) : state;
    case 'terminating': {
      if (end === 'reachedEnd') return acknowledge(state);
      if (end === 'resourcesReleased') return state;
      const { startedAtMs, deleted, evicted, restartRequested } = state;
      return { kind: 'terminated', startedAtMs, terminatedAtMs: nowMs, deleted, evicted, restartRequested };
    }
    case 'terminated': {
      if (end !== 'resourcesReleased') return state;
      const { terminatedAtMs, deleted, evicted, restartRequested } = state;
      return { kind: 'finished', terminatedAtMs, neverStarted: false, deleted, evicted, restartRequested };
    }
    case 'finished':
      return state;
  }
}

export type Retirement =
  /** Nothing of the pod is left to do. */
  | { readonly kind: 'forget' }
  /** The pod must come to its end first; `began` when that begins here. */
  | { readonly kind: 'end'; readonly state: PodState; readonly began: boolean }
  | { readonly kind: 'keep' };

export interface RetirementInput {
  /** The pod is no longer configured. */
  readonly orphan: boolean;
  /** The pod as it was handed to the syncer last. */
  readonly activePod: Pod | undefined;
  readonly nowMs: number;
}

/** What becomes of a pod when the full set of configured pods is known. */
export function retire(state: PodState, { orphan, activePod, nowMs }: RetirementInput): Retirement {
  const wantsRetirement = orphan || (isEnding(state) && state.restartRequested);
  if (!wantsRetirement) return { kind: 'keep' };
  if (state.kind === 'finished') return { kind: 'forget' };
  if (!orphan) return { kind: 'keep' };
  switch (state.kind) {
    case 'waiting':
      return { kind: 'forget' };
    case 'syncing': {
      const graceSeconds = activePod === undefined ? 1 : podGraceSeconds(activePod);
      const ending = beginTermination(state, { deleted: true, graceSeconds }, nowMs);
      return { kind: 'end', state: ending, began: true };
    }
    case 'terminating':
      if (state.startedAtMs === undefined && !state.observedInRuntime) return { kind: 'forget' };
      return { kind: 'end', state: { ...state, deleted: true }, began: false };
    case 'terminated':
      if (state.startedAtMs === undefined) return { kind: 'forget' };
      return { kind: 'end', state: { ...state, deleted: true }, began: false };
  }
}

function podGraceSeconds({ metadata, spec }: Pod): number {
  return effectiveGrace({
    currentSeconds: undefined,
    deletionGraceSeconds: metadata.deletionGracePeriodSeconds,
    overrideSeconds: undefined,
    specSeconds: spec.terminationGracePeriodSeconds,
  }).seconds;
}
