/** Builds the managers of CPUs, memory and NUMA nodes, and brings them together: at admission, around containers, at the start. */
import { errorText, sleep } from '../../async/index.js';
import type { AnyContainer, Pod } from '../../kube/index.js';
import { readMachineTopology } from '../../resources/machine-topology/index.js';
import type { MemoryBlock } from '../../resources/memory-manager/index.js';
import type { ListedMemory } from '../../resources/pod-resources/index.js';
import {
  type AligningPolicy,
  createAligningPolicy,
  createAlignmentMetrics,
  createTopologyManagerMetrics,
  TopologyManager,
} from '../../resources/topology-manager/index.js';
import { type ContainerPlacement, type InternalLifecycle, placedBy } from '../../runtime-manager/index.js';
import { type AdmissionHandler, admitted } from '../admission/admission.js';
import type { ResourceHoldings } from '../describe-node/contracts.js';
import { cpuHoldings, deviceHoldings, memoryHoldings } from '../describe-node/holdings.js';
import type { KubeletSettings } from '../settings.js';
import type { StartManager } from '../start-up/managers.js';
import { type CpuManagerPorts, createCpuManager, mayRun } from './create-cpu-manager.js';
import { createDeviceManager, type DeviceManagerPorts, type NodeDevices } from './create-device-manager.js';
import { createMemoryManager } from './create-memory-manager.js';

export interface ResourceManagers {
  readonly admission: AdmissionHandler;
  /** Absent where containers may run everywhere. */
  readonly internals: InternalLifecycle | undefined;
  readonly hasExclusiveCpus: (pod: Pod, container?: AnyContainer) => boolean;
  /** Who holds what; empty where nothing is given out. */
  readonly holdings: () => readonly ResourceHoldings[];
  /** What single containers were given, and what could be given. */
  readonly given: {
    cpus(podUid: string, container: string): readonly number[];
    memory(podUid: string, container: string): readonly ListedMemory[];
    /** With the gate PodLevelResourceManagers, what a pod was given as a whole. */
    podCpus(podUid: string): readonly number[];
    podMemory(podUid: string): readonly ListedMemory[];
    allocatableCpus(): readonly number[];
    allocatableMemory(): readonly ListedMemory[];
  };
  /** Absent where device plugins are not wanted. */
  readonly devices: NodeDevices | undefined;
  readonly start: StartManager;
  stop(): Promise<void>;
}

/** Rejects for settings that no start can be made with. */
export async function createResourceManagers(
  settings: Parameters<typeof createCpuManager>[0] &
    Parameters<typeof createMemoryManager>[0] &
    Parameters<typeof createDeviceManager>[0] &
    Pick<KubeletSettings, 'machine' | 'stopping'>,
  ports: Omit<CpuManagerPorts, 'topology'> &
    DeviceManagerPorts & {
      /** Gives containers what drivers prepared for them. */
      readonly claims?: ContainerPlacement | undefined;
    },
): Promise<ResourceManagers> {
  const { config, gates, clock, registry, machine, stopping } = settings;
  let known: ReturnType<typeof readMachineTopology> | undefined;
  const topology = (): ReturnType<typeof readMachineTopology> => {
    known ??= readMachineTopology(machine);
    return known;
  };
  const { topologyManagerPolicy: name, topologyManagerPolicyOptions: options } = config;
  const policy: AligningPolicy | undefined =
    name === 'none' ? undefined : createAligningPolicy({ policy: name, options, machine: await topology() });
  const cpus = await createCpuManager(settings, { ...ports, topology });
  const memory = await createMemoryManager(settings, topology);
  const machineNodes = policy === undefined ? [] : (await topology()).numaNodes.map(({ id }) => id);
  const devices = await createDeviceManager(settings, ports, machineNodes);
  const metrics = registry.once(createTopologyManagerMetrics);
  const manager = new TopologyManager({
    clock,
    policy,
    scope: config.topologyManagerScope,
    providers: [...(devices === undefined ? [] : [devices.manager]), cpus.manager, memory.manager],
    alignsPodLevel: gates.enabled('PodLevelResourceManagers'),
    metrics,
    alignment: registry.once(createAlignmentMetrics),
  });
  const placements = [
    ...(cpus.placement === undefined ? [] : [cpus.placement]),
    ...(memory.placement === undefined ? [] : [memory.placement]),
    ...(policy === undefined ? [] : [hintPlacement(manager)]),
  ];
  const isStopping = (uid: string): boolean => ports.activePod(uid) === undefined && mayRun(ports.peek(uid));
  const forgetOthers = (pod: Pod): void => {
    if (!ports.allSourcesReady()) return;
    const active = [...ports.activePods(), pod];
    const uids = new Set(active.map(({ metadata }) => metadata.uid));
    memory.manager.keepOnly(active, isStopping);
    devices?.manager.keepOnly((uid) => uids.has(uid) || isStopping(uid));
    manager.hints.keepOnly((uid) => uids.has(uid));
  };
  /** Whether a pod that is no longer there holds something until its containers have stopped. */
  const isHeld = (pod: Pod): boolean =>
    [
      ...cpus.manager.state.entries.keys(),
      ...memory.manager.assignments.entries.keys(),
      ...(devices?.manager.holders() ?? []).map(({ podUid }) => podUid),
    ].some((uid) => uid !== pod.metadata.uid && isStopping(uid));
  const givesNothing = (): boolean =>
    policy === undefined && placements.length === 0 && devices?.manager.hasDevices !== true;
  const allocate: AdmissionHandler['admit'] = async ({ pod, operation }) => {
    forgetOthers(pod);
    try {
      let refusal = await manager.admit(pod, operation, stopping.signal);
      if (refusal !== undefined && refusal.until === undefined && operation === 'add' && isHeld(pod)) {
        const untilMs = clock.monotonic() + stoppingPatienceMs;
        while (isHeld(pod) && clock.monotonic() < untilMs) await sleep(clock, lookMs, stopping.signal);
        forgetOthers(pod);
        refusal = await manager.admit(pod, operation, stopping.signal);
      }
      return refusal === undefined ? admitted : { admit: false, ...refusal };
    } finally {
      // What a refused pod holds goes back when it is seen to be gone.
      cpus.manager.admissionEnded(pod.metadata.uid);
    }
  };
  // Where nothing is given out nobody waits.
  const count: AdmissionHandler['admit'] = () => {
    metrics.requests.inc();
    metrics.durationMs.observe(0);
    return admitted;
  };
  // CDI devices of claims come before those of plugins.
  const around = [
    ...placements,
    ...(ports.claims === undefined ? [] : [ports.claims]),
    ...(devices === undefined ? [] : [devices.placement]),
  ];
  let areCpusStarted = false;
  return {
    admission: { name: 'topology', admit: (attempt) => (givesNothing() ? count : allocate)(attempt) },
    internals: around.length === 0 ? undefined : placedBy(around),
    devices,
    hasExclusiveCpus: (pod, container) => cpus.manager.hasExclusiveCpus(pod, container),
    holdings: () => [
      ...(cpus.placement === undefined ? [] : [cpuHoldings(cpus.manager.state)]),
      ...(memory.placement === undefined ? [] : [memoryHoldings(memory.manager.assignments)]),
      ...(devices === undefined ? [] : [deviceHoldings(devices.manager.holders())]),
    ],
    given: {
      cpus: (uid, name) => [...(cpus.manager.state.entries.get(uid)?.get(name) ?? [])],
      memory: (uid, name) => memory.manager.blocksOf(uid, name).map(listedMemory),
      podCpus: (uid) => [...(cpus.manager.state.podEntries.get(uid) ?? [])],
      podMemory: (uid) => (memory.manager.assignments.podEntries.get(uid) ?? []).map(listedMemory),
      allocatableCpus: () => [...cpus.manager.allocatable],
      allocatableMemory: () =>
        [...memory.manager.unused].flatMap(([node, { memoryMap }]) =>
          [...memoryMap]
            .filter(([, { allocatable }]) => allocatable > 0)
            .map(([type, { allocatable }]) => ({ type, bytes: allocatable, numaNodes: [node] })),
        ),
    },
    async start(tasks) {
      // Called again after a failure, it goes on with who has failed.
      if (!areCpusStarted) await cpus.start(tasks).catch(failedStart('cpu'));
      areCpusStarted = true;
      await memory.start(tasks).catch(failedStart('memory'));
      await devices?.start().catch(failedStart('device'));
    },
    async stop() {
      await Promise.all([cpus.stop(), memory.manager.stop(), devices?.stop()]);
    },
  };
}

function listedMemory({ type, size, numaAffinity }: MemoryBlock): ListedMemory {
  return { type, bytes: size, numaNodes: numaAffinity };
}

/** A pod deleted by force is killed within two seconds or so; whoever comes in its place waits for that. */
const stoppingPatienceMs = 5_000;
const lookMs = 50;

/** The hint of a container is kept while an instance of it is there. */
function hintPlacement({ hints }: TopologyManager): ContainerPlacement {
  return {
    places: async () => ({}),
    created: ({ metadata }, { name }, containerId) => hints.containerCreated(metadata.uid, name, containerId),
    stopped: (containerId) => hints.containerRemoved(containerId),
  };
}

function failedStart(manager: 'cpu' | 'memory' | 'device'): (cause: unknown) => never {
  return (cause) => {
    throw new Error(`start ${manager} manager error: ${errorText(cause)}`, { cause });
  };
}

/** The handler of resources comes after those that only look at the pod and the node's state. */
export function withResources(
  rules: readonly AdmissionHandler[],
  resources: AdmissionHandler,
): readonly AdmissionHandler[] {
  const after = rules.findLastIndex(({ name }) => beforeResources.includes(name)) + 1;
  return [...rules.slice(0, after), resources, ...rules.slice(after)];
}

const beforeResources: readonly string[] = ['pressure', 'sysctls'];
