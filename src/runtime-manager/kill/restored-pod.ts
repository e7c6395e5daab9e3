/** Rebuilds a pod whose object is gone from the labels and annotations of its containers. */
import {
  type ContainerStatus as CriContainerStatus,
  criAnnotations,
  criLabels,
  type ObservedPod,
} from '../../cri/index.js';
import {
  type Container,
  type ContainerPort,
  type LifecycleHandler,
  type Pod,
  parseJson,
} from '../../kube/index.js';

/**
 * The pod and the container, as far as killing the container needs them. The pod's spec names no container.
 */
export function restorePod(status: CriContainerStatus): { readonly pod: Pod; readonly container: Container } {
  const { labels, annotations } = status;
  const preStop = readAnnotation<LifecycleHandler>(annotations[criAnnotations.preStopHandler]);
  const ports = readAnnotation<ContainerPort[]>(annotations[criAnnotations.ports]);
  const terminationGracePeriodSeconds = parseSeconds(annotations[criAnnotations.podTerminationGracePeriod]);
  const deletionGracePeriodSeconds = parseSeconds(annotations[criAnnotations.podDeletionGracePeriod]);
  const container: Container = {
    name: labels[criLabels.containerName] ?? status.metadata?.name ?? '',
    ...(ports === undefined ? {} : { ports }),
    ...(preStop === undefined ? {} : { lifecycle: { preStop } }),
  };
  const pod: Pod = {
    metadata: {
      // The agent labels all that it makes; what says less of its pod has to be killed all the same.
      name: labels[criLabels.podName] ?? '',
      namespace: labels[criLabels.podNamespace] ?? '',
      uid: labels[criLabels.podUid] ?? '',
      ...(deletionGracePeriodSeconds === undefined ? {} : { deletionGracePeriodSeconds }),
    },
    spec: {
      containers: [],
      ...(terminationGracePeriodSeconds === undefined ? {} : { terminationGracePeriodSeconds }),
    },
  };
  return { pod, container };
}

/** A pod with only names and images: for one that runs in the runtime but is not desired. */
export function stubPod(observed: ObservedPod): Pod {
  const names = new Set<string>();
  const containers: Container[] = [];
  for (const { name, image } of observed.containers) {
    if (names.has(name)) continue;
    names.add(name);
    containers.push({ name, image });
  }
  const { uid, name, namespace } = observed;
  return { metadata: { uid, name, namespace }, spec: { containers } };
}

/** The agent wrote these annotations from objects of this shape; any other text counts as absent. */
function readAnnotation<T extends object>(text: string | undefined): T | undefined {
  if (text === undefined) return undefined;
  try {
    const value = parseJson(text);
    // Only the agent writes these annotations, from a value of type T.
    return typeof value === 'object' && value !== null ? (value as T) : undefined;
  } catch {
    return undefined;
  }
}

function parseSeconds(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
