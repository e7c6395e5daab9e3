/** How many exclusive CPUs a container or a pod asks for. */
import {
  type AnyContainer,
  type Container,
  hasPodLevelResources,
  isSidecar,
  type Pod,
  qosClass,
  tryParseQuantity,
} from '../../kube/index.js';

export interface CpuCountRules {
  /** Whether pods with resources of their own take part: the gate PodLevelResourceManagers. */
  readonly podLevel: boolean;
  /** How many CPUs a container keeps whatever it is resized to; absent, or undefined: its request tells. */
  readonly kept?: (podUid: string, container: string) => number | undefined;
}

/** 0 for a container that runs in the shared pool. */
export function exclusiveCpuCount(
  pod: Pod,
  container: AnyContainer,
  { podLevel, kept }: CpuCountRules,
): number {
  if (qosClass(pod) !== 'Guaranteed') return 0;
  if (hasPodLevelResources(pod.spec.resources) && !(podLevel && isExclusive(container))) return 0;
  return kept?.(pod.metadata.uid, container.name) ?? wholeCpus(container.resources?.requests?.cpu);
}

/** Of the pod as a whole, by its own resources; 0 if it gets nothing as a whole. */
export function podLevelCpuCount(pod: Pod): number {
  return qosClass(pod) === 'Guaranteed' ? wholeCpus(pod.spec.resources?.requests?.cpu) : 0;
}

/**
 * Of all containers together at the moment when they need most: app containers and sidecars run at once, an ordinary init
 * container beside the sidecars before it.
 */
export function podCpuCount(pod: Pod, rules: CpuCountRules): number {
  const count = (container: Container): number => exclusiveCpuCount(pod, container, rules);
  let sidecars = 0;
  let most = 0;
  for (const container of pod.spec.initContainers ?? []) {
    if (isSidecar(container)) sidecars += count(container);
    else most = Math.max(most, sidecars + count(container));
  }
  return Math.max(
    most,
    pod.spec.containers.reduce((sum, container) => sum + count(container), sidecars),
  );
}

/** Whether the container's own requests of CPU and memory are its limits, which a pod with resources of its own asks for. */
export function isExclusive({ resources }: AnyContainer): boolean {
  return (['cpu', 'memory'] as const).every((name) => {
    const request = tryParseQuantity(resources?.requests?.[name] ?? '')?.nanos ?? 0n;
    const limit = tryParseQuantity(resources?.limits?.[name] ?? '')?.nanos ?? 0n;
    return request > 0n && request === limit;
  });
}

/** 0 for anything but a whole number of CPUs. */
function wholeCpus(text: string | undefined): number {
  const nanos = text === undefined ? undefined : tryParseQuantity(text)?.nanos;
  if (nanos === undefined || nanos <= 0n || nanos % 1_000_000_000n !== 0n) return 0;
  return Number(nanos / 1_000_000_000n);
}
