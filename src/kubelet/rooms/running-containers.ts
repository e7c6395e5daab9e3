/** Lists what runs, with the resources that the runtime tells of: the resource managers ask for it when a file of theirs is lost. */
import { ContainerState, type CriRuntime, criLabels, type LinuxContainerResources } from '../../cri/index.js';

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

/** Rejects if the runtime cannot list containers. */
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
    // A container that has just gone has no resources.
    const answer = await cri.containerStatus({ containerId: id }).catch(() => undefined);
    running.push({
      id,
      podUid,
      podName: labels[criLabels.podName] ?? '',
      podNamespace: labels[criLabels.podNamespace] ?? '',
      name,
      resources: answer?.status?.resources?.linux,
    });
  }
  return running;
}
