/** Builds the runtime manager and what it works through. */
import { Backoff } from '../../async/index.js';
import { createHookMetrics, createLifecycleHooks } from '../../hooks/index.js';
import { httpGet } from '../../http-get/index.js';
import { type AnyContainer, type Node, objectReaders, type Pod, quantityUnits } from '../../kube/index.js';
import { hostIpsOf } from '../../pods/index.js';
import {
  FilePodConfigs,
  imageUserFromRuntime,
  type RuntimeSettings,
  runtimeSettings,
} from '../../runtime-manager/config/index.js';
import {
  type ContainerRemover,
  crashLoopDelays,
  createRuntimeMetrics,
  type ImageEnsurer,
  type InternalLifecycle,
  type PodConfigs,
  type PodStates,
  type PrepareResources,
  type ProbeVerdicts,
  type Reinspect,
  RuntimeManager,
  runtimeHandlerOf,
} from '../../runtime-manager/index.js';
import { terminationMessage } from '../../runtime-manager/logs/index.js';
import type { ActuatedResources } from '../../runtime-manager/resize/index.js';
import type { UserNamespaces } from '../../runtime-manager/userns/index.js';
import { allocatableOf } from '../node/node-basis.js';
import type { PodVolumes } from '../ports.js';
import type { KubeletSettings } from '../settings.js';

type RuntimeManagerSettings = PodConfigSettings &
  Pick<
    KubeletSettings,
    | 'clock'
    | 'registry'
    | 'podLogsDir'
    | 'containerLogsDir'
    | 'startsAtOnce'
    | 'podConfigs'
    | 'hooks'
    | 'wasOomKilled'
    | 'outside'
    | 'logFiles'
  >;

/** What configs of containers are made from. */
type PodConfigSettings = NodeConfigSettings &
  Pick<
    KubeletSettings,
    'nodeFiles' | 'cri' | 'timeline' | 'node' | 'runtimeClasses' | 'objects' | 'services' | 'cgroups'
  >;

type NodeConfigSettings = Pick<
  KubeletSettings,
  'nodeName' | 'rootDir' | 'config' | 'gates' | 'host' | 'nodeIps' | 'hostIps'
>;

/** What the runtime manager needs of the rooms around it. */
export interface RuntimePorts {
  readonly podStates: PodStates;
  readonly remover: ContainerRemover;
  readonly volumes: PodVolumes;
  readonly probes: ProbeVerdicts;
  readonly images: ImageEnsurer;
  /** Absent where pods have no directories to remember users in. */
  readonly users: Pick<UserNamespaces, 'of'> | undefined;
  readonly actuated: ActuatedResources;
  readonly reinspect: Reinspect;
  /** Whether a container, or any of the pod if none is given, has CPUs for itself. Absent: none has. */
  readonly hasExclusiveCpus?: (pod: Pod, container?: AnyContainer) => boolean;
  /** Who binds containers to CPUs and memory. Absent: all may use everything. */
  readonly internals?: InternalLifecycle | undefined;
  /** Absent: pods that use claims are refused. */
  readonly prepareResources?: PrepareResources | undefined;
}

export function createRuntimeManager(settings: RuntimeManagerSettings, ports: RuntimePorts): RuntimeManager {
  const { podStates, remover, probes, images, actuated, reinspect, internals } = ports;
  const { config, gates, cri, clock, timeline, registry, rootDir, podLogsDir, containerLogsDir } = settings;
  const messages = settings.outside.port('termination messages', () => ({
    read: (status: Parameters<typeof terminationMessage>[1]) => terminationMessage({ rootDir }, status),
  }));
  const manager: RuntimeManager = new RuntimeManager({
    cri,
    clock,
    timeline,
    images,
    configs: podConfigsOf(settings, ports),
    podStates,
    remover,
    probes,
    actuated,
    reinspect,
    ...(internals === undefined ? {} : { internals }),
    prepareResources: ports.prepareResources,
    podCgroups: settings.cgroups?.bounds,
    resizeVolume: ports.volumes.resizeVolume?.bind(ports.volumes),
    startsAtOnce: settings.startsAtOnce,
    crashLoop: new Backoff(
      crashLoopDelays({
        maxMs: config.crashLoopBackOff.maxContainerRestartPeriod,
        reduced: gates.enabled('ReduceDefaultCrashLoopBackOffDecay'),
      }),
    ),
    podLogsDir,
    metrics: createRuntimeMetrics(registry),
    runtimeHandler: runtimeHandlerOf(settings.runtimeClasses),
    terminationMessage: (status) => messages.read(status),
    logFiles: settings.logFiles,
    wasOomKilled: settings.wasOomKilled,
    containerLogsDir,
    hooks:
      settings.hooks ??
      createLifecycleHooks({
        cri,
        clock,
        timeline,
        metrics: createHookMetrics(registry),
        request: settings.outside.port('hook requests', () => httpGet),
        podIps: async ({ metadata: { uid = '', name = '', namespace = '' } }) =>
          (await manager.podStatus(uid, name, namespace)).ips,
      }),
  });
  return manager;
}

function podConfigsOf(
  settings: PodConfigSettings & Pick<KubeletSettings, 'podConfigs'>,
  ports: Pick<RuntimePorts, 'volumes' | 'users' | 'hasExclusiveCpus' | 'prepareResources'>,
): PodConfigs {
  const { podConfigs } = settings;
  if (typeof podConfigs === 'function') return podConfigs(ports.volumes);
  return podConfigs ?? createPodConfigs(settings, ports);
}

function createPodConfigs(
  settings: PodConfigSettings,
  {
    volumes,
    users,
    hasExclusiveCpus,
    prepareResources,
  }: Pick<RuntimePorts, 'volumes' | 'users' | 'hasExclusiveCpus' | 'prepareResources'>,
): PodConfigs {
  const { cri, timeline, objects, services } = settings;
  const handlerOf = runtimeHandlerOf(settings.runtimeClasses);
  return new FilePodConfigs({
    settings: settingsNow(runtimeSettingsOf(settings), settings.node),
    timeline,
    files: settings.nodeFiles,
    volumes,
    imageUser: imageUserFromRuntime(cri),
    env: {
      ...(objects === undefined ? {} : objectReaders(objects)),
      services,
      volumeDirectory: (pod, name) => volumes.volumeDirectory(pod, name),
    },
    volumeGroups: (pod) => volumes.volumeGroups(pod),
    ...(users === undefined ? {} : { users: async (pod) => users.of(pod, await handlerOf(pod)) }),
    ...(hasExclusiveCpus === undefined ? {} : { hasExclusiveCpus }),
    preparesClaims: prepareResources !== undefined,
    cgroupParent: settings.cgroups?.parentOf,
  });
}

/** The settings with what is known of the node, made anew only when that changed. */
function settingsNow(settings: RuntimeSettings, nodeNow: () => Node | undefined): () => RuntimeSettings {
  let known: Node | undefined;
  let current = settings;
  return (): RuntimeSettings => {
    const node = nodeNow();
    if (node !== undefined && node !== known) {
      known = node;
      const hostIps = hostIpsOf(node.status?.addresses ?? []);
      current = {
        ...settings,
        ...(hostIps.length === 0 ? {} : { hostIps }),
        ...(node.status?.allocatable === undefined ? {} : { nodeAllocatable: node.status.allocatable }),
      };
    }
    return current;
  };
}

/** What configs of containers depend on, from the machine and the configuration. */
function runtimeSettingsOf(settings: NodeConfigSettings): RuntimeSettings {
  const { nodeName, rootDir, config, gates, host, nodeIps = [], hostIps = nodeIps } = settings;
  return runtimeSettings({
    nodeName,
    rootDir,
    podLogsDir: config.podLogsDir,
    nodeIps,
    hostIps,
    clusterDomain: config.clusterDomain,
    clusterDns: config.clusterDNS,
    resolvConf: config.resolvConf,
    cpuCfsQuota: config.cpuCFSQuota,
    cpuCfsQuotaPeriodMs: config.cpuCFSQuotaPeriod,
    seccompDefault: config.seccompDefault,
    memoryCapacityBytes: host.memoryCapacityBytes,
    nodeAllocatable: allocatableOf(undefined, host),
    cgroupVersion: host.cgroupVersion,
    singleProcessOomKill: config.singleProcessOOMKill ?? host.cgroupVersion === 1,
    swap: {
      behavior: config.memorySwap.swapBehavior === 'LimitedSwap' ? 'LimitedSwap' : 'NoSwap',
      capacityBytes: host.swapCapacityBytes,
      isControllerAvailable: host.isSwapControllerAvailable,
    },
    memoryQos: {
      enabled: gates.enabled('MemoryQoS'),
      throttlingFactor: config.memoryThrottlingFactor,
      unreservedBytes:
        host.memoryCapacityBytes -
        quantityUnits(config.systemReserved.memory) -
        quantityUnits(config.kubeReserved.memory),
      reservationPolicy:
        config.memoryReservationPolicy === 'TieredReservation' ? 'TieredReservation' : 'None',
    },
    defaultPodSysctls: config.defaultPodSysctls,
    containerStopSignals: gates.enabled('ContainerStopSignals'),
    hugePageSizes: host.hugePageSizes,
    ...(host.pageSizeBytes === undefined ? {} : { pageSizeBytes: host.pageSizeBytes }),
    isSelinuxEnabled: host.isSelinuxEnabled,
    isAppArmorEnabled: host.isAppArmorEnabled,
    thermalThrottlePaths: host.thermalThrottlePaths,
  });
}
