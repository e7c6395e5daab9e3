/** What the runtime has of the node's pods, asked directly and not through the agent. */
import { ContainerState, type CriClient, PodSandboxState } from '../../src/cri/index.js';

export interface SeenContainer {
  readonly id: string;
  readonly podUid: string;
  readonly pod: string;
  readonly name: string;
  readonly attempt: number;
  readonly runs: boolean;
}

export interface SeenSandbox {
  readonly id: string;
  readonly podUid: string;
  readonly pod: string;
  readonly isReady: boolean;
}

export interface RuntimeSample {
  readonly containers: readonly SeenContainer[];
  readonly sandboxes: readonly SeenSandbox[];
}

/** `undefined` while the runtime does not answer. */
export async function sampleRuntime(cri: CriClient): Promise<RuntimeSample | undefined> {
  try {
    const { items } = await cri.listPodSandbox({});
    const { containers } = await cri.listContainers({});
    return {
      sandboxes: items.map(({ id, metadata, state }) => ({
        id,
        podUid: metadata?.uid ?? '',
        pod: metadata?.name ?? '',
        isReady: state === PodSandboxState.SANDBOX_READY,
      })),
      containers: containers.map(({ id, labels, metadata, state }) => ({
        id,
        podUid: labels['io.kubernetes.pod.uid'] ?? '',
        pod: labels['io.kubernetes.pod.name'] ?? '',
        name: metadata?.name ?? '',
        attempt: metadata?.attempt ?? 0,
        runs: state === ContainerState.CONTAINER_RUNNING,
      })),
    };
  } catch {
    // It was killed or is stopped on purpose; what matters is asked again at the quiet point.
    return undefined;
  }
}
