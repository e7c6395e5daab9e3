/** Builds the managers of CPUs and NUMA nodes, and brings them together: at admission, around containers, at the start. */
import type { AnyContainer, Pod } from '../../kube/index.js';
import { readMachineTopology } from '../../resources/machine-topology/index.js';
import {
  type AligningPolicy,
  createAligningPolicy,
  createAlignmentMetrics,
  createTopologyManagerMetrics,
  TopologyManager,
} from '../../resources/topology-manager/index.js';
import { type InternalLifecycle, placedBy } from '../../runtime-manager/index.js';
import { type AdmissionHandler, admitted } from '../admission/admission.js';
import type { ResourceHoldings } from '../describe-node/contracts.js';
import { cpuHoldings } from '../describe-node/holdings.js';
import type { KubeletSettings } from '../settings.js';
import type { StartManager } from '../start-up/managers.js';
import { type CpuManagerPorts, createCpuManager } from './create-cpu-manager.js';

export interface ResourceManagers {
  readonly admission: AdmissionHandler;
  /** Absent where containers may run everywhere. */
  readonly internals: InternalLifecycle | undefined;
  readonly hasExclusiveCpus: (pod: Pod, container?: AnyContainer) => boolean;
  /** Who holds what; empty where nothing is given out. */
  readonly holdings: () => readonly ResourceHoldings[];
  readonly start: StartManager;
  stop(): Promise<void>;
}

/** Rejects for settings that no start can be made with. */
export async function createResourceManagers(
  settings: Parameters<typeof createCpuManager>[0] & Pick<KubeletSettings, 'machine' | 'stopping'>,
  ports: Omit<CpuManagerPorts, 'topology'>,
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
  const metrics = registry.once(createTopologyManagerMetrics);
  const manager = new TopologyManager({
    clock,
    policy,
    scope: config.topologyManagerScope,
    providers: [cpus.manager],
    alignsPodLevel: gates.enabled('PodLevelResourceManagers'),
    metrics,
    alignment: registry.once(createAlignmentMetrics),
  });
  const placements = cpus.placement === undefined ? [] : [cpus.placement];
  const allocate: AdmissionHandler['admit'] = async ({ pod, operation }) => {
    try {
      const refusal = await manager.admit(pod, operation, stopping.signal);
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
  const givesNothing = policy === undefined && placements.length === 0;
  return {
    admission: { name: 'topology', admit: givesNothing ? count : allocate },
    internals: placements.length === 0 ? undefined : placedBy(placements),
    hasExclusiveCpus: (pod, container) => cpus.manager.hasExclusiveCpus(pod, container),
    holdings: () => (cpus.placement === undefined ? [] : [cpuHoldings(cpus.manager.state)]),
    start: (tasks) => cpus.start(tasks),
    stop: () => cpus.stop(),
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
