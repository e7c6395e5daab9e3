/** Compares two observations of a pod and returns the events for the sync loop. */
import type { ObservedPod } from '../../cri/index.js';

export type PlegState = 'running' | 'exited' | 'unknown' | 'non-existent';

export type PlegEventType =
  | 'ContainerStarted'
  | 'ContainerDied'
  | 'ContainerRemoved'
  | 'ContainerChanged'
  | 'PodSync';

/** `id` is that of a container or a sandbox. ContainerChanged never leaves the PLEG. */
export interface PodLifecycleEvent {
  readonly uid: string;
  readonly type: PlegEventType;
  readonly id: string;
}

const events: Readonly<Record<PlegState, Readonly<Record<PlegState, readonly PlegEventType[]>>>> = {
  'non-existent': {
    running: ['ContainerStarted'],
    exited: ['ContainerDied'],
    unknown: ['ContainerChanged'],
    'non-existent': [],
  },
  running: {
    running: [],
    exited: ['ContainerDied'],
    unknown: ['ContainerChanged'],
    'non-existent': ['ContainerDied', 'ContainerRemoved'],
  },
  exited: {
    running: ['ContainerStarted'],
    exited: [],
    unknown: ['ContainerChanged'],
    'non-existent': ['ContainerRemoved'],
  },
  unknown: {
    running: ['ContainerStarted'],
    exited: ['ContainerDied'],
    unknown: [],
    'non-existent': ['ContainerDied', 'ContainerRemoved'],
  },
};

/** The events of one container or sandbox. */
export function eventsBetween(before: PlegState, after: PlegState): readonly PlegEventType[] {
  return events[before][after];
}

/** The events of all containers and sandboxes of a pod, containers first. */
export function comparePods(
  uid: string,
  before: ObservedPod | undefined,
  after: ObservedPod | undefined,
): PodLifecycleEvent[] {
  if (before !== undefined && after !== undefined && isUnchanged(before, after)) return [];
  const [old, current] = [statesOf(before), statesOf(after)];
  const changes: PodLifecycleEvent[] = [];
  for (const id of new Set([...old.keys(), ...current.keys()])) {
    for (const type of eventsBetween(old.get(id) ?? 'non-existent', current.get(id) ?? 'non-existent')) {
      changes.push({ uid, type, id });
    }
  }
  return changes;
}

/** Fast path: most pods do not change between two relists. */
function isUnchanged(before: ObservedPod, after: ObservedPod): boolean {
  return sameStates(before.containers, after.containers) && sameStates(before.sandboxes, after.sandboxes);
}

interface ListedContainerState {
  readonly id: string;
  readonly state: 'created' | 'running' | 'exited' | 'unknown';
}

function sameStates(
  before: readonly ListedContainerState[],
  after: readonly ListedContainerState[],
): boolean {
  if (before.length !== after.length) return false;
  for (let index = 0; index < before.length; index++) {
    const [a, b] = [before[index], after[index]];
    if (a?.id !== b?.id || a?.state !== b?.state) return false;
  }
  return true;
}

function statesOf(pod: ObservedPod | undefined): Map<string, PlegState> {
  const states = new Map<string, PlegState>();
  if (pod === undefined) return states;
  for (const { id, state } of pod.containers) states.set(id, state === 'created' ? 'unknown' : state);
  for (const { id, state } of pod.sandboxes) states.set(id, state);
  return states;
}
