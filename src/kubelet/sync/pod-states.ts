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

/**
 * A pod that waits in admission has no worker yet, and may have run before the agent started: what it left stays, so that
 * it goes on where it was.
 */
export function workerStates(
  workers: Link<StateQuestions>,
  isInAdmission: (uid: string) => boolean,
): WorkerStates {
  const hasWorker = (uid: string): boolean => workers.target.stateOf(uid) !== undefined;
  const isUndecided = (uid: string): boolean => !hasWorker(uid) && isInAdmission(uid);
  return {
    isTerminationRequested: (uid) => workers.target.isTerminationRequested(uid),
    shouldContentBeRemoved: (uid) => workers.target.shouldContentBeRemoved(uid) && !isUndecided(uid),
    shouldRuntimeBeRemoved: (uid) => workers.target.shouldRuntimeBeRemoved(uid) && !isUndecided(uid),
    couldHaveRunningContainers: (uid) => workers.target.couldHaveRunningContainers(uid) || isUndecided(uid),
    shouldContainersBeTerminating: (uid) =>
      workers.target.shouldContainersBeTerminating(uid) && !isUndecided(uid),
    hasWorker,
  };
}
