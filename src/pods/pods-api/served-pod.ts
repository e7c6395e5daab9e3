/** Decides how the pods API shows a pod: with the kubelet's own status, or with what can be said before there is one. */
import type { Pod, PodCondition, PodStatus } from '../../kube/index.js';
import { kubeMessage } from '../../kube-protobuf/index.js';

export const podMessage = kubeMessage<Pod>('Pod');

/** A pod that this kubelet has not looked at yet is not ready, whatever was written of it before. */
export function servedPod(pod: Pod, own: PodStatus | undefined): Pod {
  return { ...pod, status: own ?? statusBeforeFirst(pod.status ?? {}) };
}

function statusBeforeFirst(status: PodStatus): PodStatus {
  const conditions = status.conditions?.map(
    (condition): PodCondition =>
      condition.type === 'Ready' && condition.status === 'True'
        ? {
            ...condition,
            status: 'False',
            reason: 'ContainersNotReady',
            message: 'Kubelet is initializing pod containers',
          }
        : condition,
  );
  return {
    ...status,
    phase: status.phase || 'Pending',
    ...(conditions === undefined ? {} : { conditions }),
  };
}

/** Only the first status since the kubelet's start tells of a new pod, and not if the pod is about to go. */
export function changeOf(pod: Pod, version: number): 'added' | 'modified' {
  return version === 1 && pod.metadata.deletionTimestamp === undefined ? 'added' : 'modified';
}
