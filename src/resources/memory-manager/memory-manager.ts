/** Gives containers of Guaranteed pods memory of certain NUMA nodes, and remembers it across restarts. */
import { join } from 'node:path';
import { type DurableFiles, DurableState } from '../../host/index.js';
import { type Container, hasPodLevelResources, type Pod } from '../../kube/index.js';
import type { Timeline } from '../../timeline/index.js';
import {
  type AllocationOutcome,
  allocated,
  type HintProvider,
  type PodLevelMetrics,
  type ResourceHints,
  type TopologyHint,
} from '../topology-manager/index.js';
import {
  afterCreation,
  blocksFor,
  chooseNodes,
  hasEnded,
  ordinaryInitContainers,
  reusableMemory,
  withContainerBlocks,
  withoutStale,
} from './allocate-memory.js';
import { formatMemoryCheckpoint } from './checkpoint.js';
import {
  differentMachine,
  type MachineMemory,
  type MemoryAssignments,
  type MemoryBlock,
  noAssignments,
  type UsedMemory,
  usedMemory,
  withMoreBlocks,
} from './machine-memory.js';
import {
  asResourceHints,
  hintsOfBlocks,
  type MemoryDemand,
  maskOfIds,
  memoryHints,
  type NodeHint,
} from './memory-hints.js';
import type { MemoryManagerMetrics } from './metrics.js';
import { plannedBlocks, planPodMemory } from './pod-level-memory.js';
import type { BoundContainer } from './recover-assignments.js';
import {
  containerMemory,
  hasPinnedMemory,
  isExclusive,
  type MemoryRequest,
  podLevelMemory,
  podMemory,
} from './requested-memory.js';
import { restoreMemoryState } from './restore-state.js';

export type MemoryPolicy =
  | { readonly name: 'None' }
  | { readonly name: 'Static'; readonly unused: MachineMemory };

export interface MemoryManagerOptions {
  readonly policy: MemoryPolicy;
  /** Where the gate PodLevelResourceManagers is on; without these, pods with resources of their own get no memory. */
  readonly podLevel: PodLevelMetrics | undefined;
  /** Absent: nothing survives a restart. */
  readonly checkpoint?: { readonly rootDir: string; readonly store: DurableFiles } | undefined;
  readonly timeline: Timeline;
  readonly nodeName: string;
  readonly metrics: MemoryManagerMetrics;
  /** The containers that the runtime has; asked only if the file cannot be used as it is. */
  readonly containers: () => Promise<readonly BoundContainer[]>;
}

export const memoryStateFile = 'memory_manager_state';

export class MemoryManager implements HintProvider {
  readonly name = 'memory';
  readonly #options: MemoryManagerOptions;
  readonly #file: DurableState | undefined;
  readonly #unused: MachineMemory;
  #assignments: MemoryAssignments = noAssignments;
  #machine: MachineMemory;
  /** Nodes of containers that run though their blocks are lost, by pod UID and container name. */
  #bound: ReadonlyMap<string, ReadonlyMap<string, readonly number[]>> = new Map();

  constructor(options: MemoryManagerOptions) {
    this.#options = options;
    const { policy, checkpoint } = options;
    this.#unused = policy.name === 'Static' ? policy.unused : new Map();
    this.#machine = this.#unused;
    if (checkpoint === undefined) return;
    const { store, rootDir } = checkpoint;
    this.#file = new DurableState(store, join(rootDir, memoryStateFile), () => this.checkpointText());
  }

  /**
   * Never refuses a file: what does not fit is given back, and told. Rejects if the disk cannot be read just now. Tells
   * whether containers are to be set free before `unbound` is called: a file of policy `None` says that no container is
   * bound, so it is written only when that is true.
   */
  async start(): Promise<{ readonly awaitsUnbinding: boolean }> {
    const { checkpoint, policy } = this.#options;
    if (checkpoint === undefined) return { awaitsUnbinding: false };
    const restored = await restoreMemoryState({
      ...this.#options,
      policyName: this.#options.policy.name,
      path: join(checkpoint.rootDir, memoryStateFile),
      store: checkpoint.store,
      unused: this.#unused,
      pinsPodLevel: this.#options.podLevel !== undefined,
    });
    this.#bound = restored.bound;
    this.#assignments = restored.assignments;
    this.#machine = this.#machineFor(restored.assignments);
    if (restored.isOnDisk) return { awaitsUnbinding: false };
    if (policy.name === 'None') return { awaitsUnbinding: true };
    this.#file?.changed();
    await this.written();
    return { awaitsUnbinding: false };
  }

  /** No container is bound to NUMA nodes any more. */
  unbound(): void {
    this.#file?.changed();
  }

  /**
   * Resolves when everything given out is on disk: a container that was started must find its memory after a crash. A disk
   * that refuses is reported by the store, which tries again; the container starts all the same.
   */
  async written(): Promise<void> {
    await this.#file?.written().catch(() => undefined);
  }

  async stop(): Promise<void> {
    await this.#file?.stop();
  }

  containerHints(pod: Pod, container: Container): ResourceHints | undefined {
    if (!this.#isPinned(pod)) return undefined;
    const request = containerMemory(pod, container);
    const blocks = this.#blocksOf(pod, container);
    if (blocks !== undefined) return hintsOfBlocks(this.#machine, blocks, request);
    if (request.size === 0 || hasEnded(this.#assignments, pod, container)) return undefined;
    const hints = memoryHints(this.#machine, this.#demand(pod, request));
    return asResourceHints(request, this.#boundHints(hints, pod, container));
  }

  podHints(pod: Pod): ResourceHints | undefined {
    if (!this.#isPinned(pod)) return undefined;
    if (hasPodLevelResources(pod.spec.resources)) return this.#podLevelHints(pod);
    const request = podMemory(pod);
    for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
      const blocks = this.#blocksOf(pod, container);
      if (blocks !== undefined) return hintsOfBlocks(this.#machine, blocks, request);
    }
    if (request.size === 0) return undefined;
    return asResourceHints(request, memoryHints(this.#machine, this.#demand(pod, request)));
  }

  #podLevelHints(pod: Pod): ResourceHints | undefined {
    const request = podLevelMemory(pod);
    const blocks = this.#assignments.podEntries.get(pod.metadata.uid);
    if (blocks !== undefined) return hintsOfBlocks(this.#machine, blocks, request);
    if (request.size === 0) return undefined;
    if (planPodMemory(pod).kind === 'refused') return new Map([...request.keys()].map((type) => [type, []]));
    return asResourceHints(request, memoryHints(this.#machine, this.#demand(pod, request)));
  }

  allocate(pod: Pod, container: Container, hint: TopologyHint): AllocationOutcome {
    if (!this.#isPinned(pod)) return allocated;
    const request = containerMemory(pod, container);
    // A pod that counts as Guaranteed by its own resources may have containers that ask for nothing.
    if (request.size === 0) return allocated;
    this.#options.metrics.pinningRequests.inc();
    if (this.#blocksOf(pod, container) !== undefined) return allocated;
    if (hasEnded(this.#assignments, pod, container)) return allocated;
    const demand = this.#demand(pod, request);
    const bound = hint.mask === undefined ? this.#boundHint(demand, pod, container) : undefined;
    const chosen = chooseNodes(this.#machine, demand, bound ?? hint);
    if (chosen.kind === 'refused') return this.#refused('node', chosen.message);
    const blocks = blocksFor(request, chosen.ids);
    const after = withContainerBlocks(this.#assignments, pod, container, blocks);
    // With init containers the blocks of others may have shrunk, too.
    const isAdded = ordinaryInitContainers(pod).length === 0;
    const machine = isAdded ? withMoreBlocks(this.#machine, blocks) : undefined;
    return this.#assign('node', after, ['node_exclusive'], machine);
  }

  allocatePod(pod: Pod, hint: TopologyHint): AllocationOutcome {
    const { uid } = pod.metadata;
    const request = podLevelMemory(pod);
    if (!this.#isPinned(pod) || request.size === 0) return allocated;
    this.#options.metrics.pinningRequests.inc();
    if (this.#assignments.podEntries.has(uid)) return allocated;
    const plan = planPodMemory(pod);
    if (plan.kind === 'refused') return this.#refused('pod', plan.message, 'EmptyPodSharedPoolError');
    const chosen = chooseNodes(this.#machine, this.#demand(pod, request), hint);
    if (chosen.kind === 'refused') return this.#refused('pod', chosen.message);
    const { entries, podEntries } = this.#assignments;
    const after = {
      entries: new Map(entries).set(uid, plannedBlocks(plan.containers, chosen.ids)),
      podEntries: new Map(podEntries).set(uid, blocksFor(request, chosen.ids)),
    };
    const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
    const types = containers.map((one) => (isExclusive(one) ? 'pod_exclusive' : 'pod_shared'));
    return this.#assign('pod', after, types);
  }

  /** The NUMA nodes that a container is to be bound to, as `cpuset.mems` wants them; undefined for any. */
  memsOf(podUid: string, name: string): string | undefined {
    const blocks = this.#assignments.entries.get(podUid)?.get(name) ?? [];
    const ids = new Set(blocks.flatMap(({ numaAffinity }) => numaAffinity));
    return ids.size === 0 ? undefined : [...ids].sort((a, b) => a - b).join(',');
  }

  /** What each container of a pod has, for those who report it. */
  blocksOf(podUid: string, name: string): readonly MemoryBlock[] {
    return this.#assignments.entries.get(podUid)?.get(name) ?? [];
  }

  /** The memory of each NUMA node that may be given out, held or not; empty where none is. */
  get unused(): MachineMemory {
    return this.#unused;
  }

  /** Who has which memory. */
  get assignments(): MemoryAssignments {
    return this.#assignments;
  }

  /** What every NUMA node has, and what is left of it. */
  get machine(): MachineMemory {
    return this.#machine;
  }

  /** Takes back what init containers had that have ended. The file follows by itself. */
  containerCreated(pod: Pod, container: Pick<Container, 'name'>): void {
    this.#set(afterCreation(this.#assignments, pod, container));
  }

  /** Takes back what belongs to no container of these pods. The file follows by itself. */
  keepOnly(active: readonly Pod[], mayRun: (uid: string) => boolean = () => false): void {
    this.#set(withoutStale(this.#assignments, active, mayRun));
  }

  /** What the file says. */
  checkpointText(): string {
    const { entries, podEntries } = this.#assignments;
    const policyName = this.#options.policy.name;
    return formatMemoryCheckpoint({ policyName, machineState: this.#machine, entries, podEntries });
  }

  #isPinned(pod: Pod): boolean {
    const { policy, podLevel } = this.#options;
    return policy.name === 'Static' && hasPinnedMemory(pod, podLevel !== undefined);
  }

  #blocksOf({ metadata }: Pod, { name }: Container): readonly MemoryBlock[] | undefined {
    return this.#assignments.entries.get(metadata.uid)?.get(name);
  }

  #demand(pod: Pod, request: MemoryRequest): MemoryDemand {
    return { request, reusable: reusableMemory(this.#assignments, pod) };
  }

  /** Only the nodes that the container runs on, if it is bound to some that are possible. */
  #boundHints(hints: readonly NodeHint[], pod: Pod, { name }: Container): readonly NodeHint[] {
    const ids = this.#bound.get(pod.metadata.uid)?.get(name);
    if (ids === undefined) return hints;
    const mask = maskOfIds(this.#machine, ids);
    return hints.some((hint) => hint.mask === mask) ? [{ mask, preferred: true }] : hints;
  }

  #boundHint(demand: MemoryDemand, pod: Pod, container: Container): NodeHint | undefined {
    if (this.#bound.get(pod.metadata.uid)?.get(container.name) === undefined) return undefined;
    const hints = memoryHints(this.#machine, demand);
    const bound = this.#boundHints(hints, pod, container);
    return bound === hints ? undefined : bound[0];
  }

  #refused(source: 'node' | 'pod', message: string, reason?: string): AllocationOutcome {
    const { metrics, podLevel } = this.#options;
    metrics.pinningErrors.inc();
    podLevel?.errors.inc({ resource_name: 'memory', source });
    return { kind: 'refused', message, ...(reason === undefined ? {} : { reason }) };
  }

  /** The file follows by itself, once for a whole pod; `written` tells when. */
  #assign(
    source: 'node' | 'pod',
    assignments: MemoryAssignments,
    types: readonly string[],
    known?: MachineMemory,
  ): AllocationOutcome {
    const used: UsedMemory =
      known === undefined ? usedMemory(this.#unused, assignments) : { kind: 'fits', machine: known };
    if (used.kind === 'unfit') return this.#refused(source, used.problem);
    const { podLevel } = this.#options;
    podLevel?.allocations.inc({ resource_name: 'memory', source });
    for (const type of types) podLevel?.assignments.inc({ resource_name: 'memory', assignment_type: type });
    this.#set(assignments, used.machine);
    return allocated;
  }

  #set(assignments: MemoryAssignments, machine?: MachineMemory): void {
    if (assignments === this.#assignments) return;
    this.#machine = machine ?? this.#machineFor(assignments);
    this.#assignments = assignments;
    this.#file?.changed();
  }

  #machineFor(assignments: MemoryAssignments): MachineMemory {
    const used = usedMemory(this.#unused, assignments);
    if (used.kind === 'unfit') throw new Error(`${differentMachine}: ${used.problem}`);
    return used.machine;
  }
}
