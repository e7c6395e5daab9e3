/** The options of the agent's kubelet: what the configuration and the machine say of it. */
import path from 'node:path';
import { systemClock } from '../async/index.js';
import type { LoadedConfiguration } from '../config/index.js';
import { ContainerdContent, type CriClient } from '../cri/index.js';
import { detectNodeAddress, type KubeletOptions } from '../kubelet/index.js';
import type { Registry } from '../metrics/index.js';
import { type Logind, shutdownGroups } from '../node/index.js';
import type { StandaloneObjects } from '../pods/index.js';
import type { EvictionStats } from '../resources/eviction/index.js';
import type { MachineFacts } from '../runtime-manager/config/index.js';
import type { Timeline } from '../timeline/index.js';
import type { Tracer } from '../tracing/index.js';
import type { AgentCgroups } from './cgroups.js';
import { configProposals } from './config-proposals.js';
import { containerManager } from './container-manager.js';
import { runtimeEventSources } from './event-sources.js';
import { evicts } from './eviction-choice.js';
import { type KernelTasksOptions, kernelTasks } from './kernel-tasks.js';
import { kubernetesVersion } from './version.js';

/** The node before anything of it runs: its configuration, name and machine, and where it records. */
export interface AgentNode {
  readonly configuration: LoadedConfiguration;
  readonly nodeName: string;
  /** Names the system bus. */
  readonly environment: NodeJS.ProcessEnv;
  readonly host: MachineFacts;
  readonly timeline: Timeline;
  readonly registry: Registry;
  readonly tracer: Tracer;
}

export interface KubeletOptionsInput {
  readonly runtime: CriClient;
  /** The driver that the runtime uses, whatever the configuration says. */
  readonly cgroupDriver: string;
  readonly cgroups: Pick<AgentCgroups, 'pods' | 'prepare' | 'run'> | undefined;
  /** The objects of a directory; undefined where they come from the API server or not at all. */
  readonly objects: StandaloneObjects | undefined;
  readonly evictionStats: EvictionStats;
  readonly oom: KernelTasksOptions['oom'];
}

export async function kubeletOptions(
  { configuration, nodeName, environment, host, timeline, registry, tracer }: AgentNode,
  { runtime, cgroupDriver, cgroups, objects, evictionStats, oom }: KubeletOptionsInput,
): Promise<KubeletOptions> {
  const { config, flags, featureGates } = configuration;
  const kernel = kernelTasks(configuration, { nodeName, timeline, oom });
  return {
    nodeName,
    runtime,
    runtimeEndsCalls: true,
    config: { ...config, cgroupDriver },
    gates: featureGates,
    rootDir: path.resolve(flags.rootDir),
    nodeIps: flags.nodeIp === '' ? [] : flags.nodeIp.split(','),
    hostIps: await hostAddresses(flags.nodeIp),
    host,
    standalone: { labels: flags.nodeLabels, kubeletVersion: flags.reportedVersion || kubernetesVersion },
    deadContainers: {
      minAgeMs: flags.minimumContainerTtlDurationMs,
      maxPerContainer: flags.maximumDeadContainersPerContainer,
      maxTotal: flags.maximumDeadContainers,
    },
    containerLogsDir: flags.containerLogsDir === '' ? undefined : flags.containerLogsDir,
    credentialProviders:
      flags.imageCredentialProviderConfig === ''
        ? undefined
        : {
            configPath: flags.imageCredentialProviderConfig,
            binDir: flags.imageCredentialProviderBinDir,
          },
    devicePlugins:
      flags.devicePluginDir === ''
        ? undefined
        : { directory: path.resolve(flags.devicePluginDir), waitMs: flags.devicePluginWaitMs },
    timeline,
    registry,
    tracer,
    objects,
    claims: objects,
    cgroups: cgroups?.pods,
    wasOomKilled: kernel.wasOomKilled,
    logind: shutdownGroups(config).length === 0 ? undefined : await openLogind(environment),
    managers: {
      ...kernel.managers,
      containerManager: containerManager({ configuration, host, timeline, cgroups }),
    },
    proposals: configProposals(configuration, { host, cgroupDriver }),
    eviction: {
      stats: evictionStats,
      boundsAllocatable: !flags.experimentalAllocatableIgnoreEviction,
      evicts: evicts(configuration),
    },
    eventSources: runtimeEventSources(configuration),
    pulls: () => new ContainerdContent(config.containerRuntimeEndpoint),
  };
}

/** Loaded only where a shutdown of the machine is to be delayed. */
async function openLogind(environment: NodeJS.ProcessEnv): Promise<Logind> {
  const { busLogind } = await import('../node/shutdown/bus-logind.js');
  return busLogind({ clock: systemClock, environment });
}

/** The addresses that pods see as their host's. */
async function hostAddresses(nodeIp: string): Promise<string[]> {
  const given = nodeIp === '' ? [] : nodeIp.split(',').filter((ip) => ip !== '0.0.0.0' && ip !== '::');
  const detected = given.length > 0 ? undefined : await detectNodeAddress();
  return detected === undefined ? given : [detected];
}
