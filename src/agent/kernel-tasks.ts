/** What the agent does with the kernel beside running pods: it reports OOM kills and keeps the node's packet rules. */
import { systemClock } from '../async/index.js';
import type { LoadedConfiguration } from '../config/index.js';
import type { KubeletManagers, KubeletOptions } from '../kubelet/index.js';
import {
  OomWatcher,
  type OomWatcherOptions,
  openKernelLog,
  PacketRules,
  packetCommands,
} from '../node/index.js';
import type { Timeline } from '../timeline/index.js';

export interface KernelTasksOptions {
  readonly nodeName: string;
  readonly timeline: Timeline;
  /** Whom kills for want of memory hit, and where they are counted. */
  readonly oom: Required<Pick<OomWatcherOptions, 'counts' | 'victimOf'>>;
}

/** Without a cluster nobody looks for the node's packet rules, so the agent makes them only when they are asked for by name. */
export function kernelTasks(
  { config, standalone, explicit }: LoadedConfiguration,
  { nodeName, timeline, oom }: KernelTasksOptions,
): {
  readonly managers: Pick<KubeletManagers, 'oomWatcher' | 'packetRules'>;
  readonly wasOomKilled: NonNullable<KubeletOptions['wasOomKilled']>;
} {
  const clock = systemClock;
  const watcher = new OomWatcher({ clock, timeline, nodeName, open: () => openKernelLog(), ...oom });
  const makesChains =
    config.makeIPTablesUtilChains && (!standalone || explicit.has('makeIPTablesUtilChains'));
  const managers: Pick<KubeletManagers, 'oomWatcher' | 'packetRules'> = {
    oomWatcher: async (tasks) => {
      tasks.start('the watch over kills for want of memory', (signal) => watcher.run(signal));
    },
    ...(makesChains
      ? {
          packetRules: async (tasks) => {
            const rules = new PacketRules({ clock, timeline, run: packetCommands(clock) });
            tasks.start('the packet rules', (signal) => rules.run(signal));
          },
        }
      : {}),
  };
  return { managers, wasOomKilled: (containerId) => watcher.hasKilled(containerId) };
}
