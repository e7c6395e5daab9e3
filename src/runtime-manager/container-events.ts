/** Kubernetes events about one container of a pod. */
import { findPodContainer, type Pod } from '../kube/index.js';
import { podRef, type Timeline } from '../timeline/index.js';

export interface ContainerEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  /** Replaced by the name in the message: events with different ids would never be merged. */
  readonly containerId?: string;
}

/** Records the event, unless the pod's spec does not name the container. */
export function recordContainerEvent(
  timeline: Timeline,
  pod: Pod,
  containerName: string,
  event: ContainerEvent,
): void {
  const found = containerName === '' ? undefined : findPodContainer(pod, containerName);
  if (found === undefined) return;
  const { type, reason, containerId } = event;
  const message =
    containerId === undefined || containerId === ''
      ? event.message
      : event.message.replaceAll(containerId, () => containerName);
  timeline.event(podRef(pod), type, reason, message, found.fieldPath);
}
