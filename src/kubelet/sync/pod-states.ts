/** What the rooms around the workers ask about a pod's state, each under its name. */
import type { PodWorkers } from '../../pods/workers/index.js';
import type { PodStates } from '../../runtime-manager/index.js';
import type { Link } from '../link.js';

export interface WorkerStates extends PodStates {
  couldHaveRunningContainers(uid: string): boolean;
  shouldContainersBeTerminating(uid: string): boolean;
  hasWorker(uid: string): boolean;
}

export function workerStates(workers: Link<Pick<PodWorkers, 'is' | 'stateOf'>>): WorkerStates {
  return {
    isTerminationRequested: (uid) => workers.target.is('isTerminationRequested', uid),
    shouldContentBeRemoved: (uid) => workers.target.is('shouldContentBeRemoved', uid),
    shouldRuntimeBeRemoved: (uid) => workers.target.is('shouldRuntimeBeRemoved', uid),
    couldHaveRunningContainers: (uid) => workers.target.is('couldHaveRunningContainers', uid),
    shouldContainersBeTerminating: (uid) => workers.target.is('shouldContainersBeTerminating', uid),
    hasWorker: (uid) => workers.target.stateOf(uid) !== undefined,
  };
}
