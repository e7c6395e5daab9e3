/** A memory manager with its file on a simulated machine, and a topology manager that asks it, for tests. */
import { VirtualClock } from '../../async/index.js';
import { DurableFiles, type SimulatedHost, simulatedHost } from '../../host/index.js';
import type { Pod } from '../../kube/index.js';
import { Timeline } from '../../timeline/index.js';
import type { MachineTopology } from '../machine-topology/machine-topology.js';
import {
  type AligningPolicyName,
  createAligningPolicy,
  createAlignmentMetrics,
  createPodLevelMetrics,
  createTopologyManagerMetrics,
  type HintProvider,
  TopologyManager,
} from '../topology-manager/index.js';
import { gi } from '../topology-manager/test-topology.js';
import { type ReservedMemory, unusedMemory } from './machine-memory.js';
import { MemoryManager } from './memory-manager.js';
import { createMemoryManagerMetrics } from './metrics.js';
import type { BoundContainer } from './recover-assignments.js';

export const rootDir = '/var/lib/kubelet';
export const statePath = `${rootDir}/memory_manager_state`;

export interface TestMemoryOptions {
  readonly machine: MachineTopology;
  readonly reserved?: ReservedMemory;
  readonly policy?: 'None' | 'Static';
  readonly topology?: AligningPolicyName;
  readonly scope?: 'container' | 'pod';
  readonly podLevel?: boolean;
  readonly host?: SimulatedHost;
  readonly containers?: readonly BoundContainer[];
  /** Others that give hints, before the memory manager. */
  readonly others?: readonly HintProvider[];
}

export async function startMemory(options: TestMemoryOptions) {
  const { machine, reserved = new Map(), policy = 'Static', topology, scope = 'container' } = options;
  const { podLevel = false, host = simulatedHost(), containers = [], others = [] } = options;
  const clock = new VirtualClock();
  const timeline = new Timeline({ clock });
  const setAside: string[] = [];
  const store = new DurableFiles({
    files: host.files,
    clock,
    observer: { setAside: ({ reason }) => setAside.push(reason), failing: () => {}, recovered: () => {} },
  });
  const metrics = createMemoryManagerMetrics();
  const podLevelMetrics = createPodLevelMetrics();
  const memory = new MemoryManager({
    policy:
      policy === 'None' ? { name: 'None' } : { name: 'Static', unused: unusedMemory(machine, reserved) },
    podLevel: podLevel ? podLevelMetrics : undefined,
    checkpoint: { rootDir, store },
    timeline,
    nodeName: 'node',
    metrics,
    containers: async () => containers,
  });
  const { awaitsUnbinding } = await memory.start();
  // Nothing runs here that could be bound.
  if (awaitsUnbinding) memory.unbound();
  await memory.written();
  const manager = new TopologyManager({
    clock,
    policy: topology && createAligningPolicy({ policy: topology, options: {}, machine }),
    scope,
    providers: [...others, memory],
    alignsPodLevel: podLevel,
    metrics: createTopologyManagerMetrics(),
    alignment: createAlignmentMetrics(),
  });
  const { signal } = new AbortController();
  return {
    memory,
    host,
    metrics,
    podLevelMetrics,
    timeline,
    setAside,
    /** The refusal's text, or what each container is bound to. */
    async admit(pod: Pod): Promise<unknown> {
      const refusal = await manager.admit(pod, 'add', signal);
      await memory.written();
      if (refusal !== undefined) return `${refusal.reason}: ${refusal.message}`;
      const { initContainers = [], containers: apps } = pod.spec;
      return [...initContainers, ...apps].map(({ name }) => memory.memsOf(pod.metadata.uid, name));
    },
    /** Free GiB, cells and assignments of each node. */
    nodes: (): unknown[] =>
      [...memory.machine.values()].map(({ memoryMap, cells, numberOfAssignments }) => [
        (memoryMap.get('memory')?.free ?? 0) / gi,
        cells.join(','),
        numberOfAssignments,
      ]),
    file: (): Promise<string> => readText(host, statePath),
  };
}

export async function readText(host: SimulatedHost, path: string): Promise<string> {
  return new TextDecoder().decode(await host.files.readFile(path));
}
