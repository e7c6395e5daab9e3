/**
 * Managers that not every kubelet has, each started at its place in the start-up. One that is left out is not there:
 * nothing else claims to do its work.
 */
import type { TaskGroup } from '../../async/index.js';

/** Resolves when what comes after it may start; what goes on in the background becomes a task. */
export type StartManager = (tasks: TaskGroup) => Promise<void>;

/** A manager that cannot start however often it is tried: the kubelet must not run without it. */
export class ManagerStartFailure extends Error {
  override readonly name = 'ManagerStartFailure';
}

export interface KubeletManagers {
  /** Tells of processes that the kernel killed for want of memory. Before the runtime is needed. */
  readonly oomWatcher?: StartManager;
  /** The chains that others find packet rules of the node by. Beside the first check of the runtime. */
  readonly packetRules?: StartManager;
  /** These need the runtime: they are started once, in this order, when it has first said that it is ready. */
  readonly containerManager?: StartManager;
  /** Who has which CPUs and memory. */
  readonly resourceManagers?: StartManager;
  readonly evictionManager?: StartManager;
  readonly pluginManager?: StartManager;
  readonly shutdownManager?: StartManager;
}

/**
 * What needs a working runtime, in the order of the start-up. Called again after a failure it goes on with the step that
 * failed: nothing is started twice.
 */
export function runtimeStart(
  managers: KubeletManagers,
  tasks: TaskGroup,
  logRotation: (signal: AbortSignal) => Promise<void>,
): () => Promise<void> {
  const steps: readonly (StartManager | undefined)[] = [
    managers.containerManager,
    managers.resourceManagers,
    managers.evictionManager,
    async () => tasks.start('log rotation', logRotation),
    managers.pluginManager,
    managers.shutdownManager,
  ];
  let next = 0;
  return async () => {
    for (; next < steps.length; next++) await steps[next]?.(tasks);
  };
}
