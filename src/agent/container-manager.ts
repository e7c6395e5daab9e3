/** What the agent does to its machine before pods run: kernel settings, cgroups of pods, and its own process. */
import { systemClock } from '../async/index.js';
import type { LoadedConfiguration } from '../config/index.js';
import { ManagerStartFailure, type StartManager } from '../kubelet/index.js';
import { applyKernelTunables } from '../node/index.js';
import { linuxCgroups, linuxProcesses, ProcessCgroups } from '../resources/cgroups/index.js';
import type { MachineFacts } from '../runtime-manager/config/index.js';
import { describeError, type Timeline } from '../timeline/index.js';
import type { AgentCgroups } from './cgroups.js';
import {
  type PreparationStep,
  type UserNamespaceRule,
  userNamespaceRemedy,
  userNamespaceRule,
} from './user-namespace.js';

export interface ContainerManagerOptions {
  readonly configuration: LoadedConfiguration;
  readonly host: Pick<MachineFacts, 'cgroupVersion'>;
  readonly timeline: Timeline;
  readonly cgroups: Pick<AgentCgroups, 'prepare' | 'run'> | undefined;
}

/** What cannot be done however often it is tried ends the agent. */
export function containerManager(options: ContainerManagerOptions): StartManager {
  return async (tasks) => {
    const { cgroups } = options;
    const rule = userNamespaceRule(options.configuration.featureGates);
    await prepared('kernel settings', rule, () => applyTunables(options, rule));
    const processes = await prepared('cgroups', rule, async () => {
      await cgroups?.prepare?.();
      return processCgroups(options);
    });
    if (cgroups?.run !== undefined) tasks.start('the cgroups of all pods', cgroups.run);
    tasks.start("the agent's own process", (signal) => processes.runOwn(signal));
    tasks.start('the processes of the system', (signal) => processes.runSystem(signal));
  };
}

async function prepared<T>(
  step: PreparationStep,
  rule: UserNamespaceRule,
  work: () => T | Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const remedy = userNamespaceRemedy(step, rule, error);
    const message = describeError(error);
    throw new ManagerStartFailure(remedy === undefined ? message : `${message}; ${remedy}`, { cause: error });
  }
}

/** Without a cluster nobody expects the agent to change the kernel, so it does only when it is asked to by name. */
function applyTunables({ configuration, timeline }: ContainerManagerOptions, rule: UserNamespaceRule): void {
  const { config, standalone, explicit } = configuration;
  if (standalone && !explicit.has('protectKernelDefaults')) return;
  applyKernelTunables({
    timeline,
    protect: config.protectKernelDefaults,
    toleratesRefusal: rule === 'tolerant',
  });
}

/** Always directories of the agent's own making, whatever makes those of pods. */
function processCgroups({ configuration, host, timeline }: ContainerManagerOptions): ProcessCgroups {
  const { oomScoreAdj, kubeletCgroups, systemCgroups } = configuration.config;
  return new ProcessCgroups({
    clock: systemClock,
    timeline,
    hierarchy: () => linuxCgroups({ version: host.cgroupVersion, hugePageSizes: [] }),
    processes: linuxProcesses,
    oomScoreAdj,
    kubeletCgroups,
    systemCgroups,
  });
}
