/** Keeps all pods together within the machine's allocatable resources. */
import { type Clock, errorText, sleep } from '../../async/index.js';
import { cpuShares } from '../../kube/index.js';
import type { Timeline } from '../../timeline/index.js';
import type { CgroupControl } from './control.js';
import { gapText } from './hierarchy.js';
import { componentsOf, quotedName } from './names.js';
import type { PodCgroupManager } from './pod-cgroups.js';
import type { CgroupNames } from './pod-names.js';
import type { CgroupValues } from './values.js';

/** The limits of all pods together. */
export interface NodeLimits {
  readonly milliCpu: number;
  readonly memoryBytes: number;
  readonly pids: number;
  /** By size, such as `2MB`. */
  readonly hugePages: ReadonlyMap<string, number>;
}

export interface NodeCgroupsOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly nodeName: string;
  readonly control: CgroupControl;
  readonly names: CgroupNames;
  readonly pods: Pick<PodCgroupManager, 'tiers' | 'update'>;
  readonly limits: NodeLimits;
  /** The machine's CPUs as a list; absent where a CPU manager hands them out. */
  readonly cpus?: string;
  /** Whether the feature gate MemoryQoS is on. */
  readonly hasMemoryQos: boolean;
}

const periodMs = 60_000;

/** Why pods cannot go below this cgroup; undefined if they can. */
export function cgroupRootProblem(control: Pick<CgroupControl, 'gap'>, root: string): string | undefined {
  const name = componentsOf(root);
  const gap = name.length === 0 ? undefined : control.gap(name);
  if (gap === undefined) return undefined;
  return `invalid configuration: ${gapText(name, gap)}; make it, or set cgroupRoot to one that is there`;
}

export class NodeCgroups {
  readonly #options: NodeCgroupsOptions;
  #isEnforced = false;

  constructor(options: NodeCgroupsOptions) {
    this.#options = options;
  }

  /** Creates the cgroups; no pod can start before. Throws if they cannot be made. */
  async prepare(): Promise<void> {
    const { control, names, pods, timeline } = this.#options;
    const isNew = control.gap(names.pods) !== undefined;
    const values = this.#values();
    // One that is there may be what a killed agent left of a new one.
    await control.create(names.pods, values);
    if (isNew) {
      try {
        await pods.update(names.pods, values);
      } catch (error) {
        const message = `could not set the limits of all pods yet: ${errorText(error)}`;
        timeline.record({ kind: 'problem', what: 'cgroup.enforce', message, error });
      }
    }
    await pods.tiers.start();
    await this.#keepTiers();
  }

  /** Enforces the limits until that succeeds once, and maintains the cgroups of the QoS classes, until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#enforce();
      await this.#keepTiers();
      await sleep(this.#options.clock, periodMs, signal);
    }
  }

  async #keepTiers(): Promise<void> {
    const { pods, timeline } = this.#options;
    try {
      await pods.tiers.restore();
    } catch (error) {
      const message = `could not update the cgroups of the QoS classes: ${errorText(error)}`;
      timeline.record({ kind: 'problem', what: 'cgroup.keep', message, error });
    }
  }

  async #enforce(): Promise<void> {
    if (this.#isEnforced) return;
    const { timeline, nodeName, names, pods, limits } = this.#options;
    try {
      await pods.update(names.pods, this.#values());
    } catch (error) {
      const message = `Failed to update Node Allocatable Limits ${quotedName(names.pods)}: ${errorText(error)}`;
      timeline.nodeEvent(nodeName, 'Warning', 'FailedNodeAllocatableEnforcement', message);
      return;
    }
    this.#isEnforced = true;
    const { milliCpu, memoryBytes, pids } = limits;
    timeline.record({
      kind: 'effect',
      what: 'cgroup.enforce',
      message: `all pods together are limited to ${memoryBytes} bytes of memory and ${pids} processes`,
      because: 'the machine has that much without what is reserved',
      level: 'debug',
      data: { milliCpu, memoryBytes, pids },
    });
    const message = 'Updated Node Allocatable limit across pods';
    timeline.nodeEvent(nodeName, 'Normal', 'NodeAllocatableEnforced', message);
  }

  #values(): CgroupValues {
    const { limits, cpus, hasMemoryQos, control } = this.#options;
    return {
      cpuShares: cpuShares(limits.milliCpu),
      memoryLimitBytes: limits.memoryBytes,
      pidsLimit: limits.pids,
      hugePages: limits.hugePages,
      ...(cpus === undefined ? {} : { cpus }),
      ...(control.version === 2 && !hasMemoryQos
        ? { unified: { 'memory.min': '0', 'memory.low': '0' } }
        : {}),
    };
  }
}
