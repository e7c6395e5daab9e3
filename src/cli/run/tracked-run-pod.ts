/** What a run knows of each of its pods, and which of those that wait may start. */
import { isTerminalPhase, type Pod, type PodStatus, podFullName } from '../../kube/index.js';
import type { RunPod } from './run-pod.js';

/** Waiting for the end of other pods; given to the kubelet; being stopped; removed. */
export type RunPodState = 'waiting' | 'active' | 'stopping' | 'gone';

export interface TrackedRunPod extends RunPod {
  pod: Pod;
  job?: RunPod['job'];
  state: RunPodState;
  status: PodStatus | undefined;
  /** The manifests ask for it. */
  isWanted: boolean;
  /** Why the manifests made it wait, or end. */
  because: string | undefined;
  /** The pod's worker is done. */
  finished: boolean;
  /** The pod failed before it was stopped. */
  failed: boolean;
}

/** As many as the parallelism of their Jobs allows, and none before the end of a pod of its name or its slot. */
export function startablePods(all: readonly TrackedRunPod[]): TrackedRunPod[] {
  const busy = new Map<string, number>();
  const taken = new Set<string>();
  for (const { job, state, status, slot, pod } of all) {
    if (state !== 'active' && state !== 'stopping') continue;
    taken.add(`slot ${slot}`).add(`pod ${podFullName(pod)}`);
    if (job === undefined || state !== 'active' || isTerminalPhase(status?.phase)) continue;
    busy.set(job.key, (busy.get(job.key) ?? 0) + 1);
  }
  return all.filter(({ state, slot, pod, job }) => {
    if (state !== 'waiting' || taken.has(`slot ${slot}`) || taken.has(`pod ${podFullName(pod)}`))
      return false;
    const used = job === undefined ? 0 : (busy.get(job.key) ?? 0);
    if (job !== undefined && used >= job.parallelism) return false;
    if (job !== undefined) busy.set(job.key, used + 1);
    return true;
  });
}
