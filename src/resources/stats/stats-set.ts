/** Selects the sandboxes and containers to report from all that the runtime lists. */
import {
  ContainerState,
  type ContainerStats,
  type Container as CriContainer,
  criLabels,
  type PodSandbox,
  PodSandboxState,
  type PodSandboxStats,
} from '../../cri/index.js';

export interface ListedByRuntime {
  readonly sandboxes: readonly PodSandbox[];
  readonly containers: readonly CriContainer[];
  readonly containerStats: readonly ContainerStats[];
  /** Undefined if the runtime does not report sandboxes. */
  readonly sandboxStats: readonly PodSandboxStats[] | undefined;
}

export interface MeasuredContainer {
  readonly container: CriContainer;
  readonly name: string;
  readonly stats: ContainerStats;
}

export interface MeasuredPod {
  readonly sandbox: PodSandbox;
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly stats: PodSandboxStats | undefined;
  readonly containers: readonly MeasuredContainer[];
}

/**
 * For each pod its ready sandboxes, or the newest if none is ready; of containers, those running and known. A
 * pod without any uses nothing and is omitted.
 */
export function measuredPods(listed: ListedByRuntime): MeasuredPod[] {
  const statsBySandbox = new Map(listed.sandboxStats?.map((stats) => [stats.attributes?.id ?? '', stats]));
  const statsByContainer = new Map(listed.containerStats.map((stats) => [stats.attributes?.id ?? '', stats]));
  const running = new Map<string, MeasuredContainer[]>();
  for (const container of newestContainers(listed.containers)) {
    const stats = statsByContainer.get(container.id);
    if (stats === undefined) continue;
    const name = container.labels[criLabels.containerName] ?? container.metadata?.name ?? '';
    const siblings = running.get(container.podSandboxId) ?? [];
    siblings.push({ container, name, stats });
    running.set(container.podSandboxId, siblings);
  }
  return keptSandboxes(listed.sandboxes).flatMap((sandbox) => {
    const { name = '', namespace = '', uid = '' } = sandbox.metadata ?? {};
    const containers = running.get(sandbox.id);
    if (containers === undefined) return [];
    return [{ sandbox, name, namespace, uid, stats: statsBySandbox.get(sandbox.id), containers }];
  });
}

function newestContainers(containers: readonly CriContainer[]): CriContainer[] {
  return containers
    .filter(({ state }) => state === ContainerState.CONTAINER_RUNNING)
    .sort((a, b) => (a.createdAt < b.createdAt ? -1 : a.createdAt > b.createdAt ? 1 : 0));
}

function keptSandboxes(sandboxes: readonly PodSandbox[]): PodSandbox[] {
  const groups = new Map<string, PodSandbox[]>();
  for (const sandbox of sandboxes) {
    const key = `${sandbox.metadata?.namespace ?? ''}/${sandbox.metadata?.name ?? ''}`;
    const group = groups.get(key) ?? [];
    group.push(sandbox);
    groups.set(key, group);
  }
  return [...groups.values()].flatMap((group) => {
    const ready = group.filter(({ state }) => state === PodSandboxState.SANDBOX_READY);
    if (ready.length > 0) return ready;
    return [group.reduce((newest, sandbox) => (sandbox.createdAt > newest.createdAt ? sandbox : newest))];
  });
}
