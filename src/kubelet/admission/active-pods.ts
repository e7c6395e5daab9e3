/** Which pods count as active: those that may still use resources of the node. */
import { isTerminalPhase, type Pod } from '../../kube/index.js';
import type { PodWorkers } from '../../pods/index.js';

export interface ActiveInput {
  readonly knownTerminated: boolean;
  readonly apiPhase: string | undefined;
  /** The phase that the status manager holds, which may be ahead of the API's. */
  readonly cachedPhase: string | undefined;
  readonly terminationRequested: boolean;
}

export function isActive(input: ActiveInput): boolean {
  if (input.knownTerminated) return false;
  if (!isTerminalPhase(input.apiPhase) && !isTerminalPhase(input.cachedPhase)) return true;
  return input.terminationRequested;
}

export interface ActiveSources {
  readonly workers: Pick<PodWorkers, 'isKnownTerminated' | 'isTerminationRequested'>;
  readonly statuses: { get(uid: string): { readonly phase?: string } | undefined };
}

export function filterActive(pods: readonly Pod[], { workers, statuses }: ActiveSources): Pod[] {
  return pods.filter((pod) => {
    const uid = pod.metadata.uid;
    return isActive({
      knownTerminated: workers.isKnownTerminated(uid),
      apiPhase: pod.status?.phase,
      cachedPhase: statuses.get(uid)?.phase,
      terminationRequested: workers.isTerminationRequested(uid),
    });
  });
}
