/** A pod, its cgroup and its runtime for tests of resizes: what is done to them is noted in order. */
import { ContainerStatsResponse, type CriRuntime, withCallRules } from '../../cri/index.js';
import type { Container, Pod, ResourceRequirements } from '../../kube/index.js';
import type { PodBound, PodBounds, PodCgroupResizing, VolumeResizing } from '../contracts.js';
import { RuntimeManager } from '../manager.js';
import { isResizeAlone } from '../plan/pod-plan.js';
import { resizeFailure } from '../sync-result.js';
import { bench, container, makePod, makeStatus, running } from '../test-fixtures.js';
import { ActuatedResources } from './actuated-resources.js';

export const mebi = 1024 * 1024;
export const sized = (cpu: string, memory: string): ResourceRequirements => ({
  requests: { cpu, memory },
  limits: { cpu, memory },
});

export interface ResizeWorld {
  readonly wanted: Readonly<Record<string, ResourceRequirements>>;
  readonly told: Readonly<Record<string, ResourceRequirements>>;
  readonly spec?: Partial<Pod['spec']>;
  readonly podLevelTold?: ResourceRequirements;
  readonly more?: Partial<Container>;
  readonly bounds?: Partial<PodBounds>;
  readonly wantedBounds: Partial<PodBounds>;
  readonly podUsageMebi?: number;
  readonly usageMebi?: number;
  /** The sizes that volumes in memory have; those that they are to have are in the spec. */
  readonly volumesTold?: Readonly<Record<string, string>>;
  readonly resizeVolume?: VolumeResizing;
  readonly cri?: (calls: string[]) => Partial<CriRuntime>;
  readonly cgroup?: (calls: string[]) => Partial<PodCgroupResizing>;
}

/** What a resize does, in order; it can be synced again. */
export function worldOf(world: ResizeWorld) {
  const calls: string[] = [];
  const pod = makePod({
    containers: Object.entries(world.wanted).map(([name, resources]) =>
      container(name, { resources, ...world.more }),
    ),
    ...world.spec,
  });
  const actuated = new ActuatedResources({ hasVolumes: world.volumesTold !== undefined });
  for (const [name, limit] of Object.entries(world.volumesTold ?? {}))
    actuated.setVolumeLimit('uid-1', name, limit);
  for (const [name, given] of Object.entries(world.told)) actuated.setContainer('uid-1', name, given);
  if (world.podLevelTold !== undefined) actuated.setPod('uid-1', world.podLevelTold);
  let current: PodBounds = {
    cpuShares: 1024,
    quotaMicros: 100_000,
    periodMicros: 100_000,
    memoryLimitBytes: 100 * mebi,
    ...world.bounds,
  };
  const usage = { pod: world.podUsageMebi ?? 10, container: world.usageMebi ?? 10 };
  const podCgroups: PodCgroupResizing = {
    read: () => ({ ...current, memoryUsageBytes: usage.pod * mebi }),
    wanted: () => world.wantedBounds,
    write: async (_pod: Pod, bound: PodBound) => {
      current = { ...current, [bound]: world.wantedBounds[bound] };
      calls.push(`pod ${bound}=${shown(current[bound])}`);
    },
    ...world.cgroup?.(calls),
  };
  const table = bench({
    options: {
      actuated,
      podCgroups,
      reinspect: (uid) => void calls.push(`reinspect ${uid}`),
      resizeVolume: async (...resize) => {
        await world.resizeVolume?.(...resize);
        const [, name, sizeBytes] = resize;
        calls.push(`volume ${name}=${shown(Number(sizeBytes))}`);
      },
    },
    overrides: {
      updateContainerResources: async ({ containerId, linux }) => {
        calls.push(`${containerId} shares=${linux?.cpuShares} memory=${shown(linux?.memoryLimitInBytes)}`);
        return {};
      },
      updatePodSandboxResources: async ({ resources }) => {
        const { cpuShares, cpuQuota, memoryLimitInBytes } = resources ?? {};
        calls.push(`sandbox shares=${cpuShares} quota=${cpuQuota} memory=${shown(memoryLimitInBytes)}`);
        return {};
      },
      containerStats: async () =>
        ContainerStatsResponse.create({
          stats: { memory: { usageBytes: { value: usage.container * mebi } } },
        }),
      ...world.cri?.(calls),
    },
  });
  const manager = new RuntimeManager({
    ...table.options,
    cri: withCallRules(table.options.cri, {
      clock: table.clock,
      requestTimeoutMs: 120_000,
    }),
  });
  const names = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].map(({ name }) => name);
  const status = makeStatus(
    pod,
    names.map((name) => running(name, { id: name })),
  );
  return {
    calls,
    actuated,
    usage,
    clock: table.clock,
    /** Whether the resize comes before what the pod needs on the machine. */
    resizesAlone: (): boolean => isResizeAlone(manager.plan(pod, status, false)),
    async sync(): Promise<{ readonly failure: string | undefined; readonly inProgress: boolean }> {
      const result = await manager.syncPod(pod, status, { restartingAllContainers: false });
      return { failure: resizeFailure(result), inProgress: manager.isResizeInProgress(pod, status) };
    },
  };
}

function shown(amount: number | undefined): string {
  return amount !== undefined && amount >= mebi ? `${amount / mebi}Mi` : String(amount ?? 0);
}
