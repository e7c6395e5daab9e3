/** Builds the runtime manager and what it works through. */
import { availableParallelism } from 'node:os';
import { Backoff, Gate } from '../async/index.js';
import {
  FilePodConfigs,
  imageUserFromRuntime,
  type RuntimeSettings,
  runtimeSettings,
} from '../runtime/config/index.js';
import { ImageManager, PullQueue, PullRate } from '../runtime/images/index.js';
import {
  type ContainerRemover,
  crashLoopDelays,
  type PodConfigs,
  type PodStates,
  RuntimeManager,
} from '../runtime/index.js';
import { terminationMessage } from '../runtime/logs/index.js';
import type { KubeletContext } from './context.js';
import { imageObserver, runtimeObserver } from './observers.js';

/** Starts at a time: enough to keep the cores busy while some wait, few enough that pods finish one after another. */
function defaultStartsAtOnce(): number {
  return availableParallelism() + 2;
}

export function createRuntimeManager(
  context: KubeletContext,
  podStates: PodStates,
  remover: ContainerRemover,
): RuntimeManager {
  const { options, config, gates, cri, clock, timeline, metrics, podLogsDir, containerLogsDir } = context;
  return new RuntimeManager({
    cri,
    clock,
    timeline,
    images: new ImageManager({
      cri,
      clock,
      timeline,
      queue: new PullQueue({
        maxParallelPulls: config.serializeImagePulls ? 1 : config.maxParallelImagePulls,
        rate: new PullRate({ clock, qps: config.registryPullQPS, burst: config.registryBurst }),
      }),
      observer: imageObserver(metrics),
      announcesAccess: gates.enabled('KubeletEnsureSecretPulledImages'),
      ...(options.keyring === undefined ? {} : { keyring: options.keyring }),
    }),
    configs: options.podConfigs ?? createPodConfigs(context),
    podStates,
    remover,
    gate: new Gate(options.startsAtOnce ?? defaultStartsAtOnce()),
    crashLoop: new Backoff(
      crashLoopDelays({
        maxMs: config.crashLoopBackOff.maxContainerRestartPeriod,
        reduced: gates.enabled('ReduceDefaultCrashLoopBackOffDecay'),
      }),
    ),
    podLogsDir,
    observer: runtimeObserver(metrics),
    terminationMessage,
    ...(containerLogsDir === undefined ? {} : { containerLogsDir }),
    ...(options.hooks === undefined ? {} : { hooks: options.hooks }),
  });
}

function createPodConfigs(context: KubeletContext): PodConfigs {
  const { options, cri, timeline, volumes } = context;
  const settings = nodeSettings(context);
  return new FilePodConfigs({
    settings: () => settings,
    timeline,
    volumes,
    imageUser: imageUserFromRuntime(cri),
    env: {},
    ...(options.cgroups === undefined ? {} : { cgroupParent: options.cgroups.parentOf }),
  });
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
    nodeAllocatable: { cpu: String(availableParallelism()), memory: String(host.memoryCapacityBytes) },
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
