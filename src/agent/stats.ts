/** The agent's statistics: those of the runtime and the machine, and of volumes, which are measured in the background. */
import { systemClock, type TaskGroup } from '../async/index.js';
import type { KubeletConfiguration } from '../config/index.js';
import type { Pod } from '../kube/index.js';
import type { Kubelet } from '../kubelet/index.js';
import {
  linuxMachine,
  registerVolumeMetrics,
  type StatsProvider,
  type StatsProviderOptions,
  statsProvider,
  systemCgroups,
  VolumeUsages,
  volumeMeasures,
} from '../resources/stats/index.js';

export interface AgentStatsParts {
  readonly cri: StatsProviderOptions['cri'];
  readonly config: KubeletConfiguration;
  readonly rootDir: string;
  readonly runtimeCgroups: string;
  /** The cgroups of pods; absent where pods have none. */
  readonly cgroups: { parentOf(pod: Pod): string; readonly podsCgroup: string } | undefined;
}

/** A period of zero or less leaves volumes out. */
export function agentStats(
  kubelet: Kubelet,
  { cri, config, rootDir, runtimeCgroups, cgroups }: AgentStatsParts,
  tasks: TaskGroup,
): StatsProvider {
  const { nodeName, timeline, registry } = kubelet;
  const machine = linuxMachine({ clock: systemClock });
  const volumes = new VolumeUsages({
    clock: systemClock,
    machine,
    timeline,
    periodMs: config.volumeStatsAggPeriod,
    pods: () =>
      kubelet.pods().map((pod) => ({
        uid: pod.metadata.uid ?? '',
        name: pod.metadata.name ?? '',
        namespace: pod.metadata.namespace ?? '',
        volumes: volumeMeasures(pod, (name) => kubelet.volumeDirectory(pod, name)),
      })),
  });
  if (config.volumeStatsAggPeriod > 0) {
    registerVolumeMetrics(registry, () => volumes.claims());
    tasks.start('measuring volumes', (signal) => volumes.run(signal));
  }
  return statsProvider({
    cri,
    machine,
    clock: systemClock,
    nodeName,
    rootDir,
    podLogsDir: config.podLogsDir,
    volumesOf: (uid) => volumes.of(uid),
    podCgroup: (uid) => {
      const pod = cgroups && kubelet.pods().find(({ metadata }) => metadata.uid === uid);
      return pod && cgroups.parentOf(pod);
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
}
