/** Keeps all pods together within the machine's allocatable resources. */
import { type Clock, errorText, sleep } from '../../async/index.js';
import { cpuShares } from '../../kube/index.js';
import type { Timeline } from '../../timeline/index.js';
import type { CgroupHierarchy } from './hierarchy.js';
import type { CgroupNames } from './names.js';
import type { PodCgroupManager } from './pod-cgroups.js';

/** The limits of all pods together. */
export interface NodeLimits {
  readonly milliCpu: number;
  readonly memoryBytes: number;
  readonly pids: number;
}

export interface NodeCgroupsOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly nodeName: string;
  readonly hierarchy: CgroupHierarchy;
  readonly names: CgroupNames;
  readonly pods: Pick<PodCgroupManager, 'keepParents'>;
  readonly limits: NodeLimits;
  /** Whether to report that pods are held to the node's allocatable. */
  readonly enforces: boolean;
}

const periodMs = 60_000;

/** Why pods cannot go below this cgroup; undefined if they can. */
export function cgroupRootProblem(hierarchy: CgroupHierarchy, root: string): string | undefined {
  const parts = root.split('/').filter((part) => part !== '');
  const missing = parts.length === 0 ? undefined : hierarchy.missing(root);
  if (missing === undefined) return undefined;
  return `invalid configuration: cgroup ${JSON.stringify(parts)} has some ${missing}; make it, or set cgroupRoot to one that is there`;
}

export class NodeCgroups {
  readonly #options: NodeCgroupsOptions;
  #isTold = false;

  constructor(options: NodeCgroupsOptions) {
    this.#options = options;
  }

  /** Creates the cgroups; no pod can start before. */
  prepare(): void {
    this.#options.pods.keepParents();
    this.#enforce();
  }

  /** Maintains them until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, pods, timeline } = this.#options;
    for (;;) {
      await sleep(clock, periodMs, signal);
      try {
        pods.keepParents();
      } catch (error) {
        const message = `could not update the cgroups of all pods: ${errorText(error)}`;
        timeline.record({ kind: 'problem', what: 'cgroup.keep', message, error });
      }
      this.#enforce();
    }
  }

  #enforce(): void {
    const { timeline, nodeName, hierarchy, names, limits, enforces } = this.#options;
    try {
      hierarchy.write(names.pods, {
        cpuShares: cpuShares(limits.milliCpu),
        memoryLimitBytes: limits.memoryBytes,
        pidsLimit: limits.pids,
        hugePages: 'unlimited',
      });
    } catch (error) {
      const message = `Failed to update Node Allocatable Limits ${JSON.stringify(names.pods)}: ${errorText(error)}`;
      timeline.nodeEvent(nodeName, 'Warning', 'FailedNodeAllocatableEnforcement', message);
      return;
    }
    if (!enforces || this.#isTold) return;
    this.#isTold = true;
    const message = 'Updated Node Allocatable limit across pods';
    timeline.nodeEvent(nodeName, 'Normal', 'NodeAllocatableEnforced', message);
  }
}
