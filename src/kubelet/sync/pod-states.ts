/** What the rooms around the workers ask about a pod's state, each under its name. */
import type { PodWorkers } from '../../pods/workers/index.js';
import type { PodStates } from '../../runtime-manager/index.js';
import type { Link } from '../link.js';

export interface WorkerStates extends PodStates {
  couldHaveRunningContainers(uid: string): boolean;
  shouldContainersBeTerminating(uid: string): boolean;
  hasWorker(uid: string): boolean;
}

/** The workers as far as they are asked here. */
export type StateQuestions = Pick<
  PodWorkers,
  | 'isTerminationRequested'
  | 'shouldContentBeRemoved'
  | 'shouldRuntimeBeRemoved'
  | 'couldHaveRunningContainers'
  | 'shouldContainersBeTerminating'
  | 'stateOf'
>;

export function workerStates(workers: Link<StateQuestions>): WorkerStates {
  return {
    isTerminationRequested: (uid) => workers.target.isTerminationRequested(uid),
    shouldContentBeRemoved: (uid) => workers.target.shouldContentBeRemoved(uid),
    shouldRuntimeBeRemoved: (uid) => workers.target.shouldRuntimeBeRemoved(uid),
    couldHaveRunningContainers: (uid) => workers.target.couldHaveRunningContainers(uid),
    shouldContainersBeTerminating: (uid) => workers.target.shouldContainersBeTerminating(uid),
    hasWorker: (uid) => workers.target.stateOf(uid) !== undefined,
  };
}
