/** Finds the pod and the container that a cgroup belongs to, by what the pods' statuses say. */
import { type ContainerStatus, findPodContainer, type Pod } from '../../kube/index.js';
import type { PodRef } from '../../timeline/index.js';

export interface OomVictim {
  readonly pod: PodRef;
  /** Undefined for a process in the pod's cgroup that is of no container, or of one long gone. */
  readonly container?: { readonly name: string; readonly fieldPath: string } | undefined;
}

/** Runtimes name a container's cgroup by its id, maybe with a prefix and `.scope`; a short form has 32 characters. */
const idInName = /(?:^|-)([0-9a-z]{32,64})(?:\.scope)?$/;

/** `podCgroup` is undefined for a pod without a cgroup of its own. */
export function oomVictim(
  cgroup: string,
  pods: readonly Pod[],
  podCgroup: (pod: Pod) => string | undefined,
): OomVictim | undefined {
  // From the top: what a container makes below its own cgroup may have any name.
  for (const part of cgroup.split('/')) {
    const [, id] = idInName.exec(part) ?? [];
    const found = id === undefined ? undefined : containerOf(id, pods);
    if (found !== undefined) return found;
  }
  const [pod, another] = pods.filter((each) => {
    const own = podCgroup(each);
    return own !== undefined && (cgroup === own || cgroup.startsWith(`${own}/`));
  });
  // Pods may share one cgroup.
  return pod === undefined || another !== undefined ? undefined : { pod: refOf(pod) };
}

const fullId = /(?:^|-)([0-9a-f]{64})(?:\.scope)?$/;

/** The full id of the container whose cgroup it is, or is below; the topmost, as what is below it may have any name. */
export function containerIdIn(cgroup: string): string | undefined {
  for (const part of cgroup.split('/')) {
    const [, id] = fullId.exec(part) ?? [];
    if (id !== undefined) return id;
  }
  return undefined;
}

function containerOf(id: string, pods: readonly Pod[]): OomVictim | undefined {
  for (const pod of pods) {
    const status = statusesOf(pod).find((each) => idsOf(each).some((known) => known.startsWith(id)));
    if (status === undefined) continue;
    const { name } = status;
    const { fieldPath = `spec.containers{${name}}` } = findPodContainer(pod, name) ?? {};
    return { pod: refOf(pod), container: { name, fieldPath } };
  }
  return undefined;
}

function statusesOf({ status }: Pod): ContainerStatus[] {
  return [
    ...(status?.containerStatuses ?? []),
    ...(status?.initContainerStatuses ?? []),
    ...(status?.ephemeralContainerStatuses ?? []),
  ];
}

/** The container may have been started again since. */
function idsOf({ containerID, state, lastState }: ContainerStatus): string[] {
  const known = [containerID, state?.terminated?.containerID, lastState?.terminated?.containerID];
  return known.flatMap((id) => (id === undefined ? [] : id.slice(id.indexOf('://') + 3)));
}

function refOf({ metadata: { uid, name, namespace } }: Pod): PodRef {
  return { uid, name, namespace };
}
