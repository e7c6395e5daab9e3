/** The labels and annotations of sandboxes and containers, from which a restarted agent learns what runs. */
import { criAnnotations, criLabels } from '../../cri/index.js';
import { type AnyContainer, hashContainer, type Pod } from '../../kube/index.js';

/** The pod's labels; the identity labels win over them. */
export function sandboxLabels(pod: Pod): Record<string, string> {
  return { ...pod.metadata.labels, ...identityLabels(pod) };
}

export function sandboxAnnotations(pod: Pod): Record<string, string> {
  return { ...pod.metadata.annotations };
}

/** Containers do not carry their pod's labels. */
export function containerLabels(pod: Pod, container: AnyContainer): Record<string, string> {
  return { ...identityLabels(pod), [criLabels.containerName]: container.name };
}

/** All that is needed to restart, kill and explain a container without its pod object. */
export function containerAnnotations(
  pod: Pod,
  container: AnyContainer,
  restartCount: number,
): Record<string, string> {
  const annotations: Record<string, string> = {
    [criAnnotations.hash]: hashContainer(container),
    [criAnnotations.restartCount]: String(restartCount),
    [criAnnotations.terminationMessagePath]: container.terminationMessagePath ?? '',
    [criAnnotations.terminationMessagePolicy]: container.terminationMessagePolicy ?? '',
  };
  const preStop = container.lifecycle?.preStop;
  if (preStop !== undefined) annotations[criAnnotations.preStopHandler] = JSON.stringify(preStop);
  if (container.ports !== undefined && container.ports.length > 0) {
    annotations[criAnnotations.ports] = JSON.stringify(container.ports);
  }
  const { terminationGracePeriodSeconds } = pod.spec;
  if (terminationGracePeriodSeconds !== undefined) {
    annotations[criAnnotations.podTerminationGracePeriod] = String(terminationGracePeriodSeconds);
  }
  const { deletionGracePeriodSeconds } = pod.metadata;
  if (deletionGracePeriodSeconds !== undefined) {
    annotations[criAnnotations.podDeletionGracePeriod] = String(deletionGracePeriodSeconds);
  }
  return annotations;
}

function identityLabels(pod: Pod): Record<string, string> {
  return {
    [criLabels.podName]: pod.metadata.name,
    [criLabels.podNamespace]: pod.metadata.namespace,
    [criLabels.podUid]: pod.metadata.uid,
  };
}
