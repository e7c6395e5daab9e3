/** The configured pods as others see them: each with its current status. */
import type { Pod, PodStatus } from '../../kube/index.js';

/** A pod without a status of the kubelet's own keeps the one that it came with. */
export function podsWithStatuses(
  pods: readonly Pod[],
  statuses: { get(uid: string): PodStatus | undefined },
): Pod[] {
  return pods.map((pod) => {
    const status = statuses.get(pod.metadata.uid);
    return status === undefined ? pod : { ...pod, status };
  });
}
