/** Builds the memory manager: gives it the configuration, the machine, the pods and the runtime. */
import type { TaskGroup } from '../../async/index.js';
import type { CriRuntime } from '../../cri/index.js';
import { CpuSet } from '../../kube/index.js';
import { nodeReservation } from '../../node/index.js';
import type { MachineTopology } from '../../resources/machine-topology/index.js';
import {
  type BoundContainer,
  createMemoryManagerMetrics,
  MemoryConfigError,
  MemoryManager,
  type MemoryPolicy,
  readReservedMemory,
  unusedMemory,
} from '../../resources/memory-manager/index.js';
import { createPodLevelMetrics, mostNumaNodes } from '../../resources/topology-manager/index.js';
import type { ContainerPlacement } from '../../runtime-manager/index.js';
import type { KubeletSettings } from '../settings.js';
import { boundSet, listBound, listRunning } from './running-containers.js';
import { unbindContainers } from './unbind-containers.js';

export interface NodeMemoryManager {
  /** Also the provider of hints. */
  readonly manager: MemoryManager;
  /** Absent where all containers may use all memory. */
  readonly placement: ContainerPlacement | undefined;
  /** Reads what was given out before, and sets containers free that nobody binds any more. */
  start(tasks: TaskGroup): Promise<void>;
}

type MemoryManagerSettings = Pick<
  KubeletSettings,
  | 'config'
  | 'gates'
  | 'clock'
  | 'timeline'
  | 'registry'
  | 'nodeName'
  | 'rootDir'
  | 'durable'
  | 'podDirectories'
  | 'cri'
  | 'host'
  | 'eviction'
>;

/** Rejects with a `MemoryConfigError` for settings that no start can be made with. */
export async function createMemoryManager(
  settings: MemoryManagerSettings,
  /** Read only where a policy needs it. */
  topology: () => Promise<MachineTopology>,
): Promise<NodeMemoryManager> {
  const { gates, clock, timeline, registry, nodeName, rootDir, durable, podDirectories, cri } = settings;
  const policy = await memoryPolicy(settings, topology);
  const manager = new MemoryManager({
    policy,
    podLevel: gates.enabled('PodLevelResourceManagers') ? registry.once(createPodLevelMetrics) : undefined,
    // Without files of its own a node has no say over the state on its machine.
    checkpoint: podDirectories ? { rootDir, store: durable } : undefined,
    timeline,
    nodeName,
    metrics: registry.once(createMemoryManagerMetrics),
    containers: () => boundContainers(cri),
  });
  return {
    manager,
    placement: policy.name === 'None' ? undefined : placementOf(manager),
    async start(tasks) {
      const { awaitsUnbinding } = await manager.start();
      if (!awaitsUnbinding) return;
      tasks.start('the memory of containers', async (signal) => {
        const options = {
          clock,
          timeline,
          kind: 'NUMA nodes',
          periodMs: unbindPeriodMs,
          all: async () => String(CpuSet.of((await topology()).numaNodes.map(({ id }) => id))),
          running: () => listBound(cri, ({ cpusetMems }) => cpusetMems),
          update: async (containerId: string, cpusetMems: string) =>
            void (await cri.updateContainerResources({ containerId, linux: { cpusetMems } })),
        } as const;
        await unbindContainers(options, signal);
        manager.unbound();
      });
    },
  };
}

const unbindPeriodMs = 10_000;

async function memoryPolicy(
  { config, host, eviction }: Pick<MemoryManagerSettings, 'config' | 'host' | 'eviction'>,
  topology: () => Promise<MachineTopology>,
): Promise<MemoryPolicy> {
  const { memoryManagerPolicy: name, systemReserved, kubeReserved, evictionHard, reservedMemory } = config;
  if (name === 'None') return { name };
  if (name !== 'Static') throw new MemoryConfigError('memoryManagerPolicy', `unknown policy: "${name}"`);
  const machine = await topology();
  if (machine.numaNodes.length > mostNumaNodes) {
    const text = `unsupported on machines with more than ${mostNumaNodes} NUMA Nodes`;
    throw new MemoryConfigError('memoryManagerPolicy', text);
  }
  const reserved = readReservedMemory({
    reservedMemory,
    nodeReservation: nodeReservation(
      { systemReserved, kubeReserved, evictionHard, ignoreEviction: eviction?.boundsAllocatable === false },
      { memory: String(host.memoryCapacityBytes) },
    ),
    machine,
  });
  return { name, unused: unusedMemory(machine, reserved) };
}

function placementOf(manager: MemoryManager): ContainerPlacement {
  return {
    async places({ metadata }, { name }) {
      const mems = manager.memsOf(metadata.uid, name);
      if (mems !== undefined) await manager.written();
      return { mems: mems ?? '' };
    },
    created: (pod, container) => manager.containerCreated(pod, container),
  };
}

async function boundContainers(
  cri: Pick<CriRuntime, 'listContainers' | 'containerStatus'>,
): Promise<readonly BoundContainer[]> {
  const running = await listRunning(cri);
  return running.map(({ podUid, name, resources }) => {
    const nodes = boundSet(resources?.cpusetMems);
    return { podUid, name, mems: nodes && [...nodes] };
  });
}
