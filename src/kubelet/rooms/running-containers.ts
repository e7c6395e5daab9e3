/** Lists what runs, with the resources that the runtime tells of: the resource managers ask for it when a file of theirs is lost. */
import {
  ContainerState,
  type CriRuntime,
  criLabels,
  isNotFound,
  type LinuxContainerResources,
} from '../../cri/index.js';
import { CpuSet } from '../../kube/index.js';
import type { BoundPlace } from './unbind-containers.js';

export interface RunningContainer {
  readonly id: string;
  readonly podUid: string;
  /** Empty where a container does not tell. */
  readonly podName: string;
  readonly podNamespace: string;
  readonly name: string;
  /** Undefined if the runtime does not tell. */
  readonly resources: LinuxContainerResources | undefined;
}

/** Rejects if the runtime does not tell: what a container is bound to would look free. */
export async function listRunning(
  cri: Pick<CriRuntime, 'listContainers' | 'containerStatus'>,
): Promise<readonly RunningContainer[]> {
  const { containers } = await cri.listContainers({
    filter: { state: { state: ContainerState.CONTAINER_RUNNING } },
  });
  const running: RunningContainer[] = [];
  for (const { id, labels } of containers) {
    const podUid = labels[criLabels.podUid];
    const name = labels[criLabels.containerName];
    if (podUid === undefined || name === undefined) continue;
    const answer = await cri.containerStatus({ containerId: id }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
    // It has just gone, and holds nothing.
    if (answer === undefined) continue;
    running.push({
      id,
      podUid,
      podName: labels[criLabels.podName] ?? '',
      podNamespace: labels[criLabels.podNamespace] ?? '',
      name,
      resources: answer.status?.resources?.linux,
    });
  }
  return running;
}

/** What runs, as those see it who set containers free. */
export async function listBound(
  cri: Pick<CriRuntime, 'listContainers' | 'containerStatus'>,
  boundOf: (resources: LinuxContainerResources) => string | undefined,
): Promise<readonly BoundPlace[]> {
  const running = await listRunning(cri);
  return running.map(({ id, podUid, podName, podNamespace, name, resources }) => ({
    containerId: id,
    pod: { uid: podUid, name: podName, namespace: podNamespace },
    name,
    bound: resources && (boundOf(resources) ?? ''),
  }));
}

/** The kernel writes sets of NUMA nodes like sets of CPUs. Undefined where the runtime tells nothing, or nonsense. */
export function boundSet(text = ''): CpuSet | undefined {
  try {
    return text === '' ? undefined : CpuSet.parse(text);
  } catch {
    return undefined;
  }
}
