/** Builds the runtime manager and what it works through. */
import { availableParallelism } from 'node:os';
import { Backoff } from '../../async/index.js';
import { createLifecycleHooks } from '../../hooks/index.js';
import { type Node, objectReaders, type ResourceList } from '../../kube/index.js';
import { hostIpsOf } from '../../pods/index.js';
import {
  FilePodConfigs,
  type HostFacts,
  imageUserFromRuntime,
  type RuntimeSettings,
  runtimeSettings,
} from '../../runtime-manager/config/index.js';
import {
  type ContainerRemover,
  crashLoopDelays,
  type ImageEnsurer,
  type PodConfigs,
  type PodStates,
  type ProbeVerdicts,
  RuntimeManager,
  runtimeHandlerOf,
} from '../../runtime-manager/index.js';
import { terminationMessage } from '../../runtime-manager/logs/index.js';
import type { ActuatedResources } from '../../runtime-manager/resize/index.js';
import type { UserNamespaces } from '../../runtime-manager/userns/index.js';
import { runtimeObserver } from '../metrics/observers.js';
import type { PodVolumes } from '../ports.js';
import type { KubeletContext } from '../settings.js';

/** Starts at a time: enough to keep the cores busy while some wait, few enough that pods finish one after another. */
export function startsAtOnce({ startsAtOnce: given }: { readonly startsAtOnce?: number }): number {
  return given ?? availableParallelism() + 2;
}

export interface RuntimeSurroundings {
  readonly podStates: PodStates;
  readonly remover: ContainerRemover;
  readonly volumes: PodVolumes;
  readonly probes: ProbeVerdicts;
  readonly images: ImageEnsurer;
  /** Absent where pods have no folders to remember users in. */
  readonly users: UserNamespaces | undefined;
  readonly actuated: ActuatedResources;
  readonly reinspect: (uid: string) => void;
}

export function createRuntimeManager(
  context: KubeletContext,
  surroundings: RuntimeSurroundings,
): RuntimeManager {
  const { podStates, remover, probes, images, actuated, reinspect } = surroundings;
  const { options, config, gates, cri, clock, timeline, metrics, podLogsDir, containerLogsDir } = context;
  const manager: RuntimeManager = new RuntimeManager({
    cri,
    clock,
    timeline,
    images,
    configs: podConfigsOf(context, surroundings),
    podStates,
    remover,
    probes,
    actuated,
    reinspect,
    ...(options.cgroups === undefined ? {} : { podCgroups: options.cgroups }),
    startsAtOnce: startsAtOnce(options),
    crashLoop: new Backoff(
      crashLoopDelays({
        maxMs: config.crashLoopBackOff.maxContainerRestartPeriod,
        reduced: gates.enabled('ReduceDefaultCrashLoopBackOffDecay'),
      }),
    ),
    podLogsDir,
    observer: runtimeObserver(metrics),
    runtimeHandler: runtimeHandlerOf(options.runtimeClasses),
    terminationMessage: (status) => terminationMessage({ rootDir: context.rootDir }, status),
    ...(containerLogsDir === undefined ? {} : { containerLogsDir }),
    hooks:
      options.hooks ??
      createLifecycleHooks({
        cri,
        clock,
        timeline,
        registry: context.registry,
        podIps: async ({ metadata: { uid = '', name = '', namespace = '' } }) =>
          (await manager.podStatus(uid, name, namespace)).ips,
      }),
  });
  return manager;
}

function podConfigsOf(context: KubeletContext, surroundings: RuntimeSurroundings): PodConfigs {
  const { podConfigs } = context.options;
  if (typeof podConfigs === 'function') return podConfigs(surroundings.volumes);
  return podConfigs ?? createPodConfigs(context, surroundings);
}

function createPodConfigs(context: KubeletContext, { volumes, users }: RuntimeSurroundings): PodConfigs {
  const { options, cri, timeline } = context;
  const handlerOf = runtimeHandlerOf(options.runtimeClasses);
  const settings = settingsNow(nodeSettings(context), options.node);
  return new FilePodConfigs({
    settings,
    timeline,
    volumes,
    imageUser: imageUserFromRuntime(cri),
    env: {
      ...(options.objects === undefined ? {} : objectReaders(options.objects)),
      ...(options.services === undefined ? {} : { services: options.services }),
      volumeDirectory: (pod, name) => volumes.volumeDirectory(pod, name),
    },
    volumeGroups: (pod) => volumes.volumeGroups(pod),
    ...(users === undefined ? {} : { users: async (pod) => users.of(pod, await handlerOf(pod)) }),
    ...(options.cgroups === undefined ? {} : { cgroupParent: options.cgroups.parentOf }),
  });
}

/** What the node offers to pods. */
export function nodeAllocatable({ memoryCapacityBytes }: HostFacts): ResourceList {
  return { cpu: String(availableParallelism()), memory: String(memoryCapacityBytes) };
}

/** The settings with what the cluster knows of the node, made anew only when that changed. */
function settingsNow(settings: RuntimeSettings, nodeNow: () => Node | undefined = () => undefined) {
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
function nodeSettings({ options, nodeName, rootDir, config, gates, host }: KubeletContext): RuntimeSettings {
  return runtimeSettings({
    nodeName,
    rootDir,
    podLogsDir: config.podLogsDir,
    nodeIps: options.nodeIps ?? [],
    hostIps: options.hostIps ?? options.nodeIps ?? [],
    clusterDomain: config.clusterDomain,
    clusterDns: config.clusterDNS,
    resolvConf: config.resolvConf,
    cpuCfsQuota: config.cpuCFSQuota,
    cpuCfsQuotaPeriodMs: config.cpuCFSQuotaPeriod,
    seccompDefault: config.seccompDefault,
    memoryCapacityBytes: host.memoryCapacityBytes,
    nodeAllocatable: nodeAllocatable(host),
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
      reservationPolicy:
        config.memoryReservationPolicy === 'TieredReservation' ? 'TieredReservation' : 'None',
    },
    containerStopSignals: gates.enabled('ContainerStopSignals'),
    hugePageSizes: host.hugePageSizes,
    isSelinuxEnabled: host.isSelinuxEnabled,
    isAppArmorEnabled: host.isAppArmorEnabled,
    thermalThrottlePaths: host.thermalThrottlePaths,
  });
}
