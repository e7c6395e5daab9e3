/** The statistics of a run: nothing is measured, or loaded, before somebody asks for them. */
import { TaskGroup } from '../../async/index.js';
import type { Kubelet } from '../../kubelet/index.js';
import type { StatsProvider } from '../../resources/stats/index.js';
import type { OpenRuntime } from './open-runtime.js';

export interface RunStats {
  readonly stats: StatsProvider;
  close(): Promise<void>;
}

export function runStats(
  kubelet: Kubelet,
  { cri, rootDir }: { readonly cri: OpenRuntime['cri']; readonly rootDir: string },
): RunStats {
  const { timeline } = kubelet;
  const tasks = new TaskGroup({
    onError: (task, error) =>
      timeline.record({ kind: 'problem', what: 'agent.task', message: `${task} failed`, error }),
  });
  let opened: Promise<StatsProvider> | undefined;
  const open = (): Promise<StatsProvider> => {
    opened ??= import('../../agent/stats.js').then(
      ({ agentStats }) =>
        agentStats(
          kubelet,
          { cri, config: kubelet.config, rootDir, runtimeCgroups: '', cgroups: undefined },
          tasks,
        ).stats,
    );
    return opened;
  };
  return {
    stats: {
      summary: async (options) => (await open()).summary(options),
      measured: async (options) => (await open()).measured(options),
      measuredNode: async () => (await open()).measuredNode(),
      scrape: async () => (await open()).scrape(),
    },
    close: () => tasks.stop(),
  };
}
