/** Builds the CPU manager: gives it the configuration, the machine, the pods and the runtime. */
import type { TaskGroup } from '../../async/index.js';
import { type CriRuntime, newestContainer, type ObservedPodStatus } from '../../cri/index.js';
import { CpuSet, type Pod, quantityMillis } from '../../kube/index.js';
import {
  CpuManager,
  CpuManagerConfigError,
  CpuReconciler,
  CpuStateFile,
  checkSocketAlignment,
  createCpuManagerMetrics,
  createStaticPolicy,
  type RunningCpus,
  readStaticPolicyOptions,
  refuseOptions,
  type StaticPolicy,
} from '../../resources/cpu-manager/index.js';
import type { MachineTopology } from '../../resources/machine-topology/index.js';
import {
  type AlignmentMetrics,
  createAlignmentMetrics,
  createPodLevelMetrics,
} from '../../resources/topology-manager/index.js';
import type { ContainerPlacement } from '../../runtime-manager/index.js';
import type { KubeletSettings } from '../settings.js';
import { boundSet, listBound, listRunning } from './running-containers.js';
import { unbindContainers } from './unbind-containers.js';

export interface NodeCpus {
  /** Also the provider of hints. */
  readonly manager: CpuManager;
  /** Absent where all containers may use all CPUs. */
  readonly placement: ContainerPlacement | undefined;
  /** Reads what was given out before, and keeps containers on their CPUs from then on. */
  start(tasks: TaskGroup): Promise<void>;
  stop(): Promise<void>;
}

export interface CpuManagerPorts {
  /** Read only where a policy needs it. */
  readonly topology: () => Promise<MachineTopology>;
  readonly allSourcesReady: () => boolean;
  readonly activePods: () => readonly Pod[];
  /** The pod if it is active. */
  readonly activePod: (uid: string) => Pod | undefined;
  /** What was last seen of a pod, or why it could not be seen. */
  readonly peek: (podUid: string) => { readonly status: ObservedPodStatus } | { readonly error: Error };
}

type CpuManagerSettings = Pick<
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
>;

/** Rejects with a `CpuManagerConfigError` for settings that no start can be made with. */
export async function createCpuManager(
  settings: CpuManagerSettings,
  ports: CpuManagerPorts,
): Promise<NodeCpus> {
  const { config, gates, clock, timeline, registry, nodeName, rootDir, durable, cri } = settings;
  const policy = await policyOf(settings, ports.topology);
  const podLevel = gates.enabled('PodLevelResourceManagers');
  const hasBaselines = gates.enabled('InPlacePodVerticalScalingExclusiveCPUs');
  const alignment: AlignmentMetrics = registry.once(createAlignmentMetrics);
  const manager: CpuManager = new CpuManager({
    policy,
    podLevel,
    hasBaselines,
    // Without files of its own a node has no say over the state on its machine.
    file: settings.podDirectories
      ? new CpuStateFile({ rootDir, store: durable, timeline, nodeName, policy, podLevel, hasBaselines })
      : undefined,
    pods: { ...ports, mayRun: (uid) => mayRun(ports.peek(uid)) },
    timeline,
    metrics: registry.once(createCpuManagerMetrics),
    alignment,
    podLevelMetrics: podLevel ? registry.once(createPodLevelMetrics) : undefined,
    onPoolChanged: () => reconciler.wake(),
  });
  const update = async (containerId: string, cpus: string): Promise<void> => {
    await cri.updateContainerResources({ containerId, linux: { cpusetCpus: cpus } });
  };
  const reconciler = new CpuReconciler({
    clock,
    timeline,
    periodMs: config.cpuManagerReconcilePeriod,
    removeStale: () => manager.removeStale(),
    cpusOf: (uid, name) => manager.cpusOf(uid, name),
    activePods: ports.activePods,
    runningContainers: (uid) => runningContainers(ports.peek(uid)),
    update,
  });
  return {
    manager,
    placement: policy === undefined ? undefined : placementOf(manager, reconciler),
    async start(tasks) {
      const { awaitsUnbinding } = await manager.start(() => runningCpus(cri));
      if (policy !== undefined) tasks.start('the CPUs of containers', (signal) => reconciler.run(signal));
      if (!awaitsUnbinding) return;
      tasks.start('the CPUs of containers', async (signal) => {
        const options = {
          clock,
          timeline,
          kind: 'CPUs',
          periodMs: config.cpuManagerReconcilePeriod,
          all: async () => String(CpuSet.of((await ports.topology()).cpus.map(({ id }) => id))),
          running: () => listBound(cri, ({ cpusetCpus }) => cpusetCpus),
          update,
        } as const;
        await unbindContainers(options, signal);
        manager.unbound();
      });
    },
    stop: () => manager.stop(),
  };
}

async function policyOf(
  { config, gates }: Pick<CpuManagerSettings, 'config' | 'gates'>,
  topology: () => Promise<MachineTopology>,
): Promise<StaticPolicy | undefined> {
  const { cpuManagerPolicyOptions: given } = config;
  switch (config.cpuManagerPolicy) {
    case 'none':
      refuseOptions(given);
      return undefined;
    case 'static': {
      const options = readStaticPolicyOptions(given, {
        alphaOptions: gates.enabled('CPUManagerPolicyAlphaOptions'),
        betaOptions: gates.enabled('CPUManagerPolicyBetaOptions'),
      });
      // A setting of reserved CPUs has replaced the amounts by its size.
      const policy = createStaticPolicy(await topology(), options, {
        milliCpus: quantityMillis(config.systemReserved.cpu) + quantityMillis(config.kubeReserved.cpu),
        cpus: CpuSet.parse(config.reservedSystemCPUs),
      });
      checkSocketAlignment(options, policy.topology, config.topologyManagerPolicy);
      return policy;
    }
    default:
      throw new CpuManagerConfigError('policy', `unknown policy: "${config.cpuManagerPolicy}"`);
  }
}

function placementOf(manager: CpuManager, reconciler: CpuReconciler): ContainerPlacement {
  return {
    async places(pod, container) {
      // A disk that takes nothing is reported by the store; the container must not wait for it forever.
      if (manager.hasExclusiveCpus(pod, container)) await manager.written().catch(() => undefined);
      return { cpus: String(manager.cpusOf(pod.metadata.uid, container.name)) };
    },
    created: (_pod, _container, containerId, { cpus = '' }) => reconciler.created(containerId, cpus),
    stopped: (containerId) => reconciler.stopped(containerId),
  };
}

/** A pod that cannot be seen may run. */
export function mayRun(seen: ReturnType<CpuManagerPorts['peek']>): boolean {
  return !('status' in seen) || seen.status.containers.some(({ state }) => state === 'running');
}

function runningContainers(
  seen: { readonly status: ObservedPodStatus } | { readonly error: Error },
): ReadonlyMap<string, string> {
  const running = new Map<string, string>();
  if (!('status' in seen)) return running;
  for (const { name } of seen.status.containers) {
    const newest = newestContainer(seen.status, name);
    if (newest?.state === 'running') running.set(name, newest.id);
  }
  return running;
}

/** What runs now, with the CPUs that each container is bound to, as far as the runtime tells. */
async function runningCpus(
  cri: Pick<CriRuntime, 'listContainers' | 'containerStatus'>,
): Promise<readonly RunningCpus[]> {
  const running = await listRunning(cri);
  return running.map(({ podUid, name, resources }) => ({
    podUid,
    container: name,
    cpus: boundSet(resources?.cpusetCpus),
  }));
}
