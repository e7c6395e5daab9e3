/** The decision on an update of a pod: its next state, and what is to be done as data. */
import type { ObservedPodStatus } from '../../cri/index.js';
import { isTerminalPhase, type Pod } from '../../kube/index.js';
import { effectiveGrace } from './grace.js';
import {
  beginTermination,
  isEnding,
  type PodState,
  type Terminating,
  type TerminationCause,
  terminatedBefore,
} from './pod-state.js';
import type { KillOptions, PodUpdate, PodWork, RuntimePodKill } from './types.js';

/** What an accepted update asks for, in this order. */
export type UpdateEffect =
  /** Nothing changes for the worker. */
  | { readonly kind: 'ignore'; readonly because: string }
  /** Whoever asked for the kill is told that the pod has stopped. */
  | { readonly kind: 'complete'; readonly notify: () => void }
  | { readonly kind: 'terminationBegan'; readonly because: string; readonly graceSeconds: number }
  | { readonly kind: 'graceShortened'; readonly graceSeconds: number }
  /** The step that runs is cancelled: the pod must stop, or stop sooner. */
  | { readonly kind: 'cancelStep' }
  /** The worker gets this as its next work; it replaces what waits. */
  | { readonly kind: 'handOver'; readonly work: PodWork };

export interface UpdateDecision {
  readonly state: PodState;
  readonly effects: readonly UpdateEffect[];
}

/** What is known at the moment of the update. */
export interface UpdateMoment {
  readonly nowMs: number;
  /** The pod of the work that waits, or else of the work that was handed over last. */
  readonly knownPod: Pod | undefined;
  /** The runtime is known to run nothing of the pod. */
  readonly nothingRuns: boolean;
  /** When the change was seen that the waiting work would have made real. */
  readonly waitingSinceMs: number | undefined;
}

/** Whether nothing of the pod runs, as far as the runtime shows. */
export function nothingRuns(status: ObservedPodStatus): boolean {
  return (
    !status.containers.some((container) => container.state === 'running') &&
    !status.sandboxes.some((sandbox) => sandbox.ready)
  );
}

/** The rules stand in the order in which they hold. An undefined state is that of a pod seen for the first time. */
export function acceptUpdate(
  known: PodState | undefined,
  update: PodUpdate,
  moment: UpdateMoment,
): UpdateDecision {
  const state = known ?? firstState(update, moment);
  const ignored = (because: string, next: PodState = state): UpdateDecision => ({
    state: next,
    effects: [{ kind: 'ignore', because }],
  });
  if (known !== undefined && isEnding(known) && update.type === 'create') {
    const because = 'the pod is still being torn down; it will be started anew afterwards';
    return ignored(because, { ...known, restartRequested: true });
  }
  if (state.kind === 'finished') return ignored('the pod is finished');

  const began = isEnding(state) ? undefined : terminationCause(update);
  const current =
    began === undefined || isEnding(state) ? state : beginTermination(state, began.cause, moment.nowMs);
  switch (current.kind) {
    case 'waiting':
    case 'syncing':
      return { state: current, effects: [handOver(update, moment, undefined)] };
    case 'terminated':
      if (update.type === 'killRuntimePod') return ignored('the pod is already terminated');
      return { state: current, effects: [...completeNow(update), handOver(update, moment, undefined)] };
    case 'terminating': {
      const { next, shortened } = addRequest(current, update, moment.knownPod);
      const { graceSeconds } = next;
      const recorded: UpdateEffect[] =
        began !== undefined
          ? [{ kind: 'terminationBegan', because: began.because, graceSeconds }]
          : shortened
            ? [{ kind: 'graceShortened', graceSeconds }]
            : [];
      const cancelled: UpdateEffect[] = recorded.length > 0 ? [{ kind: 'cancelStep' }] : [];
      return { state: next, effects: [...recorded, ...cancelled, handOver(update, moment, graceSeconds)] };
    }
  }
}

function firstState(update: PodUpdate, { nothingRuns: isOver, nowMs }: UpdateMoment): PodState {
  const wasOver = update.type !== 'killRuntimePod' && isTerminalPhase(update.pod.status?.phase) && isOver;
  return wasOver ? terminatedBefore(nowMs) : { kind: 'waiting' };
}

/** Why an update ends a pod that has not been asked to end yet; the first that holds. */
function terminationCause(
  update: PodUpdate,
): { readonly because: string; readonly cause: TerminationCause } | undefined {
  if (update.type === 'killRuntimePod') {
    return {
      because: 'it runs but is not configured',
      cause: { deleted: true, observedInRuntime: true },
    };
  }
  const { metadata, status } = update.pod;
  if (metadata.deletionTimestamp !== undefined)
    return { because: 'it was deleted', cause: { deleted: true } };
  if (isTerminalPhase(status?.phase)) return { because: `its phase is ${status?.phase}`, cause: {} };
  if (update.type !== 'kill') return undefined;
  return update.kill?.evict === true
    ? { because: 'it is evicted', cause: { evicted: true } }
    : { because: 'it was removed from its source or killed', cause: {} };
}

/** What one more request to stop adds to a termination. */
function addRequest(
  state: Terminating,
  update: PodUpdate,
  knownPod: Pod | undefined,
): { readonly next: Terminating & { readonly graceSeconds: number }; readonly shortened: boolean } {
  const kill = killOf(update);
  const pod = update.type === 'killRuntimePod' ? knownPod : update.pod;
  const { seconds, shortened } = effectiveGrace({
    currentSeconds: state.graceSeconds,
    deletionGraceSeconds: pod?.metadata.deletionGracePeriodSeconds,
    overrideSeconds: kill?.graceOverrideSeconds,
    specSeconds: pod?.spec.terminationGracePeriodSeconds,
  });
  const next = {
    ...state,
    observedInRuntime: state.observedInRuntime || update.type === 'killRuntimePod',
    graceSeconds: seconds,
    onTerminated: appended(state.onTerminated, kill?.onCompleted),
    statusOverrides: appended(state.statusOverrides, kill?.statusOverride),
  };
  return { next, shortened };
}

function appended<T>(list: readonly T[], added: T | undefined): readonly T[] {
  return added === undefined ? list : [...list, added];
}

/** The containers of the pod have stopped already. */
function completeNow(update: PodUpdate): readonly UpdateEffect[] {
  const notify = killOf(update)?.onCompleted;
  return notify === undefined ? [] : [{ kind: 'complete', notify }];
}

function handOver(
  update: PodUpdate,
  { knownPod, waitingSinceMs }: UpdateMoment,
  graceSeconds: number | undefined,
): UpdateEffect {
  const startMs = waitingSinceMs ?? update.startMs;
  if (update.type === 'killRuntimePod') return { kind: 'handOver', work: runtimeWork(update, knownPod) };
  const { type, pod, mirror } = update;
  return { kind: 'handOver', work: { kind: 'pod', type, pod, mirror, graceSeconds, startMs } };

  /** A pod that only the runtime shows is stopped as what it was configured as, where that is known. */
  function runtimeWork({ runtimePod }: RuntimePodKill, configured: Pod | undefined): PodWork {
    return configured === undefined
      ? { kind: 'runtimePod', runtimePod, startMs }
      : { kind: 'pod', type: 'kill', pod: configured, mirror: undefined, graceSeconds, startMs };
  }
}

function killOf(update: PodUpdate): KillOptions | undefined {
  return update.type === 'kill' || update.type === 'killRuntimePod' ? update.kill : undefined;
}
