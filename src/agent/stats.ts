/** The agent's statistics: of the runtime, of the machine, and of volumes, which a background task measures; and what eviction sees of them. */
import { sleep, systemClock, type TaskGroup } from '../async/index.js';
import type { KubeletConfiguration } from '../config/index.js';
import type { CriRuntime } from '../cri/index.js';
import { linuxHost } from '../host/index.js';
import type { Kubelet, PodCgroups } from '../kubelet/index.js';
import { OomCounts, readMachineFacts } from '../node/index.js';
import { type EvictionStats, evictionStats } from '../resources/eviction/index.js';
import {
  CgroupSampler,
  containerLogs,
  createStatsMetrics,
  createVolumeMeasureMetrics,
  decidedOnce,
  diskCounters,
  filledFileSystems,
  type KernelFiles,
  linuxKernelFiles,
  linuxMachine,
  measuredBy,
  nodeFileSystems,
  readMachineShape,
  registerLogMetrics,
  registerVolumeMetrics,
  type StatsProvider,
  type StatsProviderOptions,
  statsLimits,
  statsProvider,
  systemCgroups,
  VolumeUsages,
  volumeMeasures,
} from '../resources/stats/index.js';
import { kubernetesVersion } from './version.js';

export interface AgentStatsOptions {
  readonly cri: StatsProviderOptions['cri'] &
    Pick<CriRuntime, 'podSandboxStats' | 'listMetricDescriptors' | 'listPodSandboxMetrics'>;
  /** Whether pods are measured by the runtime, if it can. Default: no. */
  readonly fromRuntime?: boolean;
  /** Whether huge pages are no free memory (gate HugepageAwareEviction); default yes. */
  readonly withoutHugePages?: boolean;
  readonly config: Pick<
    KubeletConfiguration,
    'podLogsDir' | 'volumeStatsAggPeriod' | 'kubeletCgroups' | 'systemCgroups' | 'containerRuntimeEndpoint'
  >;
  readonly rootDir: string;
  readonly runtimeCgroups: string;
  /** The kernel's files. Default: those of this machine. */
  readonly files?: KernelFiles;
  /** Kills for want of memory; none without a watch over them. */
  readonly oomKills?: StatsProviderOptions['scrape']['oomKills'];
  /** The cgroups of pods; absent where pods have none. */
  readonly cgroups: { readonly pods: Pick<PodCgroups, 'parentOf'>; readonly podsCgroup: string } | undefined;
}

export interface AgentStats {
  readonly stats: StatsProvider;
  readonly eviction: EvictionStats;
}

/** The runtime that names the file systems of images and of containers each. */
const crioSocket = 'run/crio/crio.sock';

/** What a rate of CPU is measured over, if nobody has asked before. The kernel counts to a few milliseconds. */
const firstRateMs = 250;

/** Volumes are left out when their period is zero or less. */
export function agentStats(
  kubelet: Pick<
    Kubelet,
    'nodeName' | 'timeline' | 'registry' | 'pods' | 'volumeDirectory' | 'volumeDriver' | 'measureVolume'
  >,
  {
    cri,
    config,
    rootDir,
    runtimeCgroups,
    cgroups,
    fromRuntime = false,
    withoutHugePages = true,
    oomKills = new OomCounts(),
    files = linuxKernelFiles(statsLimits),
  }: AgentStatsOptions,
  tasks: TaskGroup,
): AgentStats {
  const { nodeName, timeline, registry } = kubelet;
  const sampler = new CgroupSampler({ clock: systemClock, files });
  tasks.signal.addEventListener('abort', () => sampler.close(), { once: true });
  const host = linuxHost();
  const machine = linuxMachine({ clock: systemClock, cgroups: sampler, host });
  const hugePagesBytes = withoutHugePages ? hugePages(rootDir) : async () => 0;
  const volumes = new VolumeUsages({
    clock: systemClock,
    machine,
    timeline,
    periodMs: config.volumeStatsAggPeriod,
    metrics: registry.once(createVolumeMeasureMetrics),
    pods: () =>
      kubelet.pods().map((pod) => ({
        uid: pod.metadata.uid,
        name: pod.metadata.name,
        namespace: pod.metadata.namespace,
        volumes: volumeMeasures(
          pod,
          (name) => kubelet.volumeDirectory(pod, name),
          (name) => kubelet.volumeDriver(pod, name),
        ),
      })),
    askDriver: async (uid, name, signal) => {
      const pod = kubelet.pods().find(({ metadata }) => metadata.uid === uid);
      return pod && (await kubelet.measureVolume(pod, name, signal));
    },
  });
  if (config.volumeStatsAggPeriod > 0) {
    registerVolumeMetrics(registry, () => volumes.claims());
    tasks.start('measuring volumes', (signal) => volumes.run(signal));
  }
  if (config.podLogsDir !== '')
    registerLogMetrics(registry, systemClock, () =>
      containerLogs(machine, config.podLogsDir, kubelet.pods()),
    );
  const { provider } = registry.once(createStatsMetrics);
  const whoMeasures = decidedOnce(
    async () => (fromRuntime ? measuredBy(cri) : 'kernel'),
    (by) => provider.set(1, { provider: by === 'runtime' ? 'cri' : 'cadvisor' }),
  );
  tasks.start('asking who measures pods', async () => void (await whoMeasures()));
  const stats = statsProvider({
    cri,
    machine,
    clock: systemClock,
    nodeName,
    rootDir,
    podLogsDir: config.podLogsDir,
    volumesOf: (uid) => volumes.of(uid),
    cgroups: sampler,
    podsCgroup: cgroups?.podsCgroup,
    podCgroups: () => {
      const pods = new Map(kubelet.pods().map((pod) => [pod.metadata.uid, pod]));
      return (uid) => {
        const pod = pods.get(uid);
        return pod && cgroups?.pods.parentOf(pod);
      };
    },
    hugePagesBytes,
    betweenReadings: () => sleep(systemClock, firstRateMs, tasks.signal),
    measuredBy: whoMeasures,
    runtimeMetrics: cri,
    scrape: {
      fileSystems: () => filledFileSystems(host, systemClock, rootDir),
      disks: () => diskCounters(files.read('/proc/diskstats') ?? ''),
      machine: () => readMachineShape(files),
      version: kubernetesVersion,
      oomKills,
    },
    systemCgroups: async () =>
      systemCgroups({
        kubeletCgroups: config.kubeletCgroups,
        runtimeCgroups,
        systemCgroups: config.systemCgroups,
        ownCgroup: await machine.ownCgroup(),
        startedAtMs: Date.now() - process.uptime() * 1000,
        podsCgroup: cgroups?.podsCgroup,
      }),
    timeline,
  });
  return {
    stats,
    eviction: evictionStats({
      measuredNode: () => stats.measuredNode(),
      measured: () => stats.measured({ fresh: true }),
      fileSystems: () => nodeFileSystems(cri, machine, rootDir),
      hugePagesBytes,
      tellsContainersApart: config.containerRuntimeEndpoint.endsWith(crioSocket),
    }),
  };
}

/** What was set aside when the agent started, as the node's capacity has it. */
function hugePages(rootDir: string): () => Promise<number> {
  let known: Promise<number> | undefined;
  const read = async (): Promise<number> => {
    const facts = await readMachineFacts({ files: linuxHost().files, rootDir });
    return facts.hugePages.reduce((sum, { pageSizeBytes, pages }) => sum + pageSizeBytes * pages, 0);
  };
  return () => {
    known ??= read().catch(() => 0);
    return known;
  };
}
