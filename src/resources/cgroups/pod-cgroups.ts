/** The cgroups of pods: created before a pod's containers, removed after its volumes, found again after a restart. */
import { type Clock, errorText, sleep } from '../../async/index.js';
import { cpuShares, minShares, type Pod, qosClass } from '../../kube/index.js';
import { podRef, type Timeline } from '../../timeline/index.js';
import { codeOf } from './folders.js';
import type { CgroupHierarchy } from './hierarchy.js';
import { type CgroupNames, podCgroup, podUidOf } from './names.js';
import {
  type PodCgroupSettings,
  podCgroupValues,
  type ResizeDirection,
  requestedMilliCpu,
  resizedValues,
} from './values.js';

export type CgroupOperation = 'create' | 'update' | 'destroy';

export interface PodCgroupsOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly hierarchy: CgroupHierarchy;
  readonly names: CgroupNames;
  readonly settings: PodCgroupSettings;
  /** Kills a process; throws `ESRCH` if it is gone. */
  readonly kill: (pid: number) => void;
  readonly observe?: (operation: CgroupOperation, seconds: number) => void;
}

const killRounds = 5;
/** A killed process leaves its cgroup a moment later. */
const removalTries = 10;
const firstRemovalWaitMs = 5;
/** Only this agent creates and removes pod cgroups; changes by others show after this delay. */
const lookAgainMs = 10_000;

export class PodCgroupManager {
  readonly #options: PodCgroupsOptions;
  /** Millicores requested by each Burstable pod. */
  readonly #demands = new Map<string, number>();
  #sharesWritten: number | undefined;
  readonly #endings = new Map<string, Promise<void>>();
  /** Valid until a cgroup is created or removed. */
  #listed: { readonly uids: readonly string[]; readonly atMs: number } | undefined;

  constructor(options: PodCgroupsOptions) {
    this.#options = options;
  }

  /** Creates the parents of all pods, and resets values that someone may have changed. */
  keepParents(): void {
    const { hierarchy, names } = this.#options;
    for (const parent of names.parents) this.#make(parent);
    hierarchy.write(names.bestEffort, { cpuShares: minShares, hugePages: 'unlimited' });
    this.#sharesWritten = undefined;
    this.#updateBurstable();
  }

  async list(): Promise<readonly string[]> {
    const { clock, hierarchy, names } = this.#options;
    const nowMs = clock.monotonic();
    if (this.#listed !== undefined && nowMs - this.#listed.atMs < lookAgainMs) return this.#listed.uids;
    const found = names.parents.flatMap((parent) => hierarchy.children(parent).map(podUidOf));
    const uids = [...new Set(found.filter((uid) => uid !== undefined))];
    this.#listed = { uids, atMs: nowMs };
    return uids;
  }

  async exists(pod: Pod): Promise<boolean> {
    const { hierarchy, names } = this.#options;
    if (hierarchy.missing(names.ofPod(pod)) !== undefined) return false;
    this.#counts(pod);
    return true;
  }

  async ensure(pod: Pod): Promise<void> {
    const { hierarchy, names, settings, timeline } = this.#options;
    this.#counts(pod);
    const name = names.ofPod(pod);
    this.#timed('create', () => this.#make(name));
    try {
      hierarchy.write(name, podCgroupValues(pod, settings));
    } catch (error) {
      // A pod without limits yet is better than no pod.
      timeline.record({
        kind: 'problem',
        what: 'cgroup.write',
        message: `could not set the pod's limits in its cgroup ${name}: ${errorText(error)}`,
        pod: podRef(pod),
        error,
      });
    }
  }

  destroy(pod: Pod): Promise<void> {
    return this.#end(pod.metadata.uid);
  }

  destroyLater(uid: string): void {
    if (this.#endings.has(uid)) return;
    const ending = this.#end(uid)
      .catch((error: unknown) => {
        const message = `could not remove the cgroup of a pod that is gone; the next pass retries: ${errorText(error)}`;
        this.#options.timeline.record({
          kind: 'problem',
          what: 'cgroup.destroy',
          message,
          data: { podUid: uid },
          error,
        });
      })
      .finally(() => this.#endings.delete(uid));
    this.#endings.set(uid, ending);
  }

  async minimizeCpu(uid: string): Promise<void> {
    const { hierarchy, names } = this.#options;
    for (const parent of names.parents) {
      const name = podCgroup(parent, uid);
      if (hierarchy.missing(name) !== undefined) continue;
      this.#timed('update', () => hierarchy.write(name, { cpuShares: minShares, hugePages: new Map() }));
    }
  }

  /** Why the pod's memory limit cannot be set; undefined if it can. */
  memoryProblem(pod: Pod): string | undefined {
    const { hierarchy, names, settings } = this.#options;
    const wanted = podCgroupValues(pod, settings).memoryLimitBytes;
    const { memoryLimitBytes, memoryUsageBytes } = hierarchy.read(names.ofPod(pod));
    if (wanted === undefined || wanted >= memoryLimitBytes || memoryUsageBytes < wanted) return undefined;
    return `attempting to set pod memory limit (${wanted}) below current usage (${memoryUsageBytes})`;
  }

  /** Call with growing limits before the containers grow, with shrinking ones after they have shrunk. */
  resize(pod: Pod, resource: 'cpu' | 'memory', direction: ResizeDirection): void {
    const { hierarchy, names, settings } = this.#options;
    const name = names.ofPod(pod);
    const values = resizedValues(podCgroupValues(pod, settings), hierarchy.read(name), resource, direction);
    if (values !== undefined) this.#timed('update', () => hierarchy.write(name, values));
    const { uid } = pod.metadata;
    if (resource === 'cpu' && this.#demands.delete(uid)) this.#counts(pod);
  }

  readonly parentOf = (pod: Pod): string => this.#options.names.ofPod(pod);

  /** Awaits the work in the background. */
  async stop(): Promise<void> {
    await Promise.all(this.#endings.values());
  }

  #counts(pod: Pod): void {
    const { uid } = pod.metadata;
    if (this.#demands.has(uid) || qosClass(pod) !== 'Burstable') return;
    this.#demands.set(uid, requestedMilliCpu(pod));
    this.#updateBurstable();
  }

  /** The CPU share of Burstable pods grows with their total requests. */
  #updateBurstable(): void {
    const { hierarchy, names } = this.#options;
    const milliCpu = [...this.#demands.values()].reduce((sum, one) => sum + one, 0);
    const shares = cpuShares(milliCpu);
    if (shares === this.#sharesWritten) return;
    this.#make(names.burstable);
    this.#timed('update', () =>
      hierarchy.write(names.burstable, { cpuShares: shares, hugePages: 'unlimited' }),
    );
    this.#sharesWritten = shares;
  }

  /** Refuses a partial cgroup: its pod would not be limited, and every pass would find it missing. */
  #make(name: string): void {
    const { hierarchy } = this.#options;
    if (hierarchy.missing(name) === undefined) return;
    this.#listed = undefined;
    hierarchy.create(name);
    const missing = hierarchy.missing(name);
    if (missing !== undefined) throw new Error(`the cgroup ${name} has some ${missing}`);
  }

  async #end(uid: string): Promise<void> {
    const { clock, hierarchy, names, observe } = this.#options;
    const startMs = clock.monotonic();
    for (const parent of names.parents) {
      const name = podCgroup(parent, uid);
      if (isRemoved(hierarchy, name)) continue;
      this.#killAll(name);
      for (let tries = 1, waitMs = firstRemovalWaitMs; !isRemoved(hierarchy, name); tries++, waitMs *= 2) {
        if (tries === removalTries) throw new Error(`the cgroup ${name} stays busy`);
        await sleep(clock, waitMs);
      }
    }
    this.#listed = undefined;
    observe?.('destroy', (clock.monotonic() - startMs) / 1000);
    if (this.#demands.delete(uid)) this.#updateBurstable();
  }

  /** The containers are gone by now; something else started the remaining processes. */
  #killAll(name: string): void {
    const { hierarchy, kill } = this.#options;
    let failed: unknown;
    for (let round = 0; round < killRounds; round++) {
      failed = undefined;
      for (const pid of hierarchy.processes(name)) {
        try {
          kill(pid);
        } catch (error) {
          if (codeOf(error) !== 'ESRCH') failed = error;
        }
      }
      if (failed === undefined) return;
    }
    throw new Error(`failed to kill all the processes attached to the ${name} cgroups`, { cause: failed });
  }

  #timed(operation: CgroupOperation, work: () => void): void {
    const { clock, observe } = this.#options;
    const startMs = clock.monotonic();
    work();
    observe?.(operation, (clock.monotonic() - startMs) / 1000);
  }
}

/** False if something is still in it. */
function isRemoved(hierarchy: CgroupHierarchy, name: string): boolean {
  try {
    hierarchy.remove(name);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EBUSY' || codeOf(error) === 'ENOTEMPTY') return false;
    throw error;
  }
}
