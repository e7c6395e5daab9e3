/** Questions about a pod's life that other parts ask before they start, keep or remove something of it. */
import { isEnding, type PodState } from './pod-state.js';

/** A pod without state counts as still possible until the workers have seen the full set of configured pods once. */
export interface PodKnowledge {
  readonly state: PodState | undefined;
  readonly syncedOnce: boolean;
}

/** Whether all containers of the pod are known to have stopped. */
export function isKnownTerminated({ state }: PodKnowledge): boolean {
  return state?.kind === 'terminated' || state?.kind === 'finished';
}

export function couldHaveRunningContainers({ state, syncedOnce }: PodKnowledge): boolean {
  return state === undefined ? !syncedOnce : !isKnownTerminated({ state, syncedOnce });
}

export function shouldBeFinished({ state, syncedOnce }: PodKnowledge): boolean {
  return state === undefined ? syncedOnce : state.kind === 'finished';
}

export function isTerminationRequested({ state }: PodKnowledge): boolean {
  return state !== undefined && isEnding(state);
}

/** Whether no container of the pod may start any more. */
export function shouldContainersBeTerminating({ state, syncedOnce }: PodKnowledge): boolean {
  switch (state?.kind) {
    case undefined:
      return syncedOnce;
    case 'waiting':
    case 'syncing':
      return false;
    case 'terminating':
      return state.acknowledged;
    case 'terminated':
      return true;
    case 'finished':
      return !state.neverStarted;
  }
}

/** Whether nothing of the pod may be left in the runtime. */
export function shouldRuntimeBeRemoved({ state, syncedOnce }: PodKnowledge): boolean {
  return state === undefined ? syncedOnce : isKnownTerminated({ state, syncedOnce });
}

/** Whether the pod's volumes and directories may be removed. */
export function shouldContentBeRemoved({ state, syncedOnce }: PodKnowledge): boolean {
  if (state === undefined) return syncedOnce;
  if (!isEnding(state)) return false;
  return state.evicted || (state.deleted && isKnownTerminated({ state, syncedOnce }));
}
