/** Keeps all pods together within what the machine has for them. */
import { type Clock, errorText, sleep } from '../../async/index.js';
import { cpuShares } from '../../kube/index.js';
import type { Timeline } from '../../timeline/index.js';
import type { CgroupHierarchy } from './hierarchy.js';
import type { CgroupNames } from './names.js';
import type { PodCgroups } from './pod-cgroups.js';

/** What pods may have in all. */
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
  readonly pods: Pick<PodCgroups, 'keepParents'>;
  readonly limits: NodeLimits;
  /** Whether it is told that pods are held within what the node allots to them. */
  readonly enforces: boolean;
}

const periodMs = 60_000;

/** Why pods cannot be put below this cgroup; undefined when they can. */
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

  /** Makes them: no pod can be started before. */
  prepare(): void {
    this.#options.pods.keepParents();
    this.#enforce();
  }

  /** Keeps them until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, pods, timeline } = this.#options;
    for (;;) {
      await sleep(clock, periodMs, signal);
      try {
        pods.keepParents();
      } catch (error) {
        const message = `the cgroups of all pods could not be kept: ${errorText(error)}`;
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
