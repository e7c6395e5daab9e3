/**
 * Parts that are not in every build, each by the place in the start-up that it has. One that is left out is not there:
 * nothing else claims to do its work.
 */
import type { TaskGroup } from '../../async/index.js';

/** Resolves when what comes after it may start; what goes on in the background becomes a task. */
export type KubeletModule = (tasks: TaskGroup) => Promise<void>;

export interface KubeletModules {
  /** Tells of processes that the kernel killed for want of memory. Before the runtime is needed. */
  readonly oomWatcher?: KubeletModule;
  /** What pods were allotted. Before volumes. */
  readonly allocationManager?: KubeletModule;
  /** The chains that others find packet rules of the node by. Beside the first check of the runtime. */
  readonly packetRules?: KubeletModule;
  /** These need the runtime: they are started once, in this order, when it has first said that it is ready. */
  readonly containerManager?: KubeletModule;
  readonly evictionManager?: KubeletModule;
  readonly pluginManager?: KubeletModule;
  readonly shutdownManager?: KubeletModule;
}

/**
 * What needs a working runtime, in the order of the start-up. Called again after a failure it goes on with the step that
 * failed: nothing is started twice.
 */
export function runtimeStart(
  modules: KubeletModules,
  tasks: TaskGroup,
  logRotation: (signal: AbortSignal) => Promise<void>,
): () => Promise<void> {
  const steps: readonly (KubeletModule | undefined)[] = [
    modules.containerManager,
    modules.evictionManager,
    async () => tasks.start('log rotation', logRotation),
    modules.pluginManager,
    modules.shutdownManager,
  ];
  let next = 0;
  return async () => {
    for (; next < steps.length; next++) await steps[next]?.(tasks);
  };
}
