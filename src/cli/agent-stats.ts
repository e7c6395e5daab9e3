/** The agent's statistics: those of the runtime and the machine, and of volumes, which are measured in the background. */
import { systemClock, type TaskGroup } from '../async/index.js';
import type { KubeletConfiguration } from '../config/index.js';
import type { Kubelet } from '../kubelet/index.js';
import {
  linuxMachine,
  registerVolumeMetrics,
  type StatsProvider,
  type StatsProviderOptions,
  statsProvider,
  VolumeUsages,
  volumeMeasures,
} from '../resources/stats/index.js';

export interface AgentStatsParts {
  readonly cri: StatsProviderOptions['cri'];
  readonly config: KubeletConfiguration;
  readonly rootDir: string;
}

/** A period of zero or less leaves volumes out. */
export function agentStats(
  kubelet: Kubelet,
  { cri, config, rootDir }: AgentStatsParts,
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
    timeline,
  });
}
