/** Decides whether a resize of a pod is under way: whether something that runs has yet to get what it was allocated. */
import { isSidecar, type Pod } from '../../kube/index.js';
import {
  amountsOf,
  changedResources,
  type ResourceAmounts,
  resizedVolumes,
  wantedResources,
} from './decide-resize.js';

export interface ResizeProgressInput {
  /** The pod with its allocated resources. */
  readonly pod: Pod;
  readonly isRunning: (container: string) => boolean;
  readonly actuated: {
    container(uid: string, name: string): ResourceAmounts;
    /** Undefined when nothing of the pod level was recorded. */
    recordedPod(uid: string): ResourceAmounts | undefined;
    /** The size limit of a volume in memory; undefined where volumes are not resized. */
    volumeLimit?(uid: string, volume: string): string | undefined;
  };
}

/** An ordinary init container does not count: it ends, and what it was given ends with it. */
export function isResizeInProgress({ pod, isRunning, actuated }: ResizeProgressInput): boolean {
  const { spec, metadata } = pod;
  const { uid } = metadata;
  const recorded = actuated.recordedPod(uid);
  if (resizedVolumes(pod, (name) => actuated.volumeLimit?.(uid, name)).length > 0) return true;
  if (recorded !== undefined && changedResources(amountsOf(spec.resources), recorded).length > 0) return true;
  return [...(spec.initContainers ?? []).filter(isSidecar), ...spec.containers].some((container) => {
    if (!isRunning(container.name)) return false;
    const wanted = amountsOf(wantedResources(pod, container));
    return changedResources(wanted, actuated.container(uid, container.name)).length > 0;
  });
}
