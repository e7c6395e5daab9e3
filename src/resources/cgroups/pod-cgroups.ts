/** The cgroups of pods: created before a pod's containers, removed after its volumes, found again after a restart. */
import { type Clock, errorText } from '../../async/index.js';
import { minShares, type Pod } from '../../kube/index.js';
import { podRef, type Timeline } from '../../timeline/index.js';
import { type CgroupMetrics, createCgroupMetrics, type MemoryQosMetrics } from '../metrics.js';
import type { CgroupControl } from './control.js';
import { destroyCgroup } from './destroy.js';
import { gapText } from './hierarchy.js';
import { type CgroupName, plainName } from './names.js';
import { PodCgroupBounds } from './pod-bounds.js';
import { type CgroupNames, podCgroup, podUidOf } from './pod-names.js';
import { QosTiers } from './qos-tiers.js';
import type { TierSettings } from './tiers.js';
import type { CgroupValues, PodCgroupSettings } from './values.js';

type CgroupOperation = 'create' | 'update' | 'destroy';

export interface PodCgroupsOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly control: CgroupControl;
  readonly names: CgroupNames;
  readonly settings: PodCgroupSettings;
  readonly tiers?: Omit<TierSettings, 'version'>;
  /** Kills a process; throws `ESRCH` if it is gone. */
  readonly kill: (pid: number) => void;
  /** Default: metrics that nobody reads. */
  readonly metrics?: CgroupMetrics;
  /** What active pods request, each time it is applied. Default: metrics that nobody reads. */
  readonly memoryQosMetrics?: MemoryQosMetrics | undefined;
}

/** Only this agent creates and removes pod cgroups; changes by others show after this delay. */
const lookAgainMs = 10_000;

export class PodCgroupManager {
  readonly tiers: QosTiers;
  /** What a resize reads and moves. */
  readonly bounds: PodCgroupBounds;
  readonly #options: PodCgroupsOptions;
  readonly #metrics: CgroupMetrics;
  readonly #endings = new Map<string, Promise<void>>();
  /** Pods whose cgroup this agent has made or found in use: it is finished. */
  readonly #finished = new Set<string>();
  #activePods: () => readonly Pod[] = () => [];
  #hasExclusiveCpus: (pod: Pod) => boolean = () => false;
  /** Valid until a cgroup is created or removed. */
  #listed: { readonly uids: readonly string[]; readonly atMs: number } | undefined;

  constructor(options: PodCgroupsOptions) {
    this.#options = options;
    const { control, names, tiers, memoryQosMetrics, metrics = createCgroupMetrics() } = options;
    this.#metrics = metrics;
    this.tiers = new QosTiers({
      control,
      names,
      settings: { ...tiers, version: control.version },
      activePods: () => this.#activePods(),
      update: (name, values) => this.update(name, values),
      metrics: memoryQosMetrics,
    });
    this.bounds = new PodCgroupBounds({
      settings: options.settings,
      hasExclusiveCpus: (pod) => this.#hasExclusiveCpus(pod),
      read: (pod) => control.read(names.ofPod(pod)),
      update: (pod, values) => this.update(names.ofPod(pod), values),
      moved: () => this.#updateTiers(),
    });
  }

  /** From now on the shares of the QoS classes follow these pods. */
  readonly follow = (activePods: () => readonly Pod[]): void => {
    this.#activePods = activePods;
  };

  /** From now on a pod for which this holds gets no CPU quota. */
  readonly followExclusiveCpus = (hasExclusiveCpus: (pod: Pod) => boolean): void => {
    this.#hasExclusiveCpus = hasExclusiveCpus;
  };

  async list(): Promise<readonly string[]> {
    const { clock, control, names } = this.#options;
    const nowMs = clock.monotonic();
    if (this.#listed !== undefined && nowMs - this.#listed.atMs < lookAgainMs) return this.#listed.uids;
    const found = names.parents.flatMap((parent) => control.children(parent).map(podUidOf));
    const uids = [...new Set(found.filter((uid) => uid !== undefined))];
    this.#listed = { uids, atMs: nowMs };
    return uids;
  }

  /** Completes a cgroup that an earlier run made and did not get to use. */
  async exists(pod: Pod): Promise<boolean> {
    const { control, names } = this.#options;
    const name = names.ofPod(pod);
    if (control.gap(name) !== undefined) return false;
    const { uid } = pod.metadata;
    if (this.#finished.has(uid)) return true;
    if (control.processes(name).length === 0) {
      await control.create(name, this.bounds.values(pod));
      await this.#writeFirst(pod, name);
    }
    this.#finished.add(uid);
    await this.#updateTiers();
    return true;
  }

  async ensure(pod: Pod): Promise<void> {
    const { names } = this.#options;
    await this.#updateTiers();
    const name = names.ofPod(pod);
    try {
      await this.#make(pod, name);
    } catch (error) {
      const message = `failed to create container for ${plainName(name)} : ${errorText(error)}`;
      throw new Error(message, { cause: error });
    }
    this.#finished.add(pod.metadata.uid);
  }

  destroy(pod: Pod): Promise<void> {
    return this.#end(pod.metadata.uid, this.#options.names.ofPod(pod));
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
    const { control, names } = this.#options;
    for (const parent of names.parents) {
      const name = podCgroup(parent, uid);
      if (control.gap(name) !== undefined) continue;
      await this.update(name, { cpuShares: minShares, hugePages: new Map() });
    }
  }

  /** The path that the runtime is given. */
  readonly parentOf = (pod: Pod): string => {
    const { control, names } = this.#options;
    return control.naming.pathOf(names.ofPod(pod));
  };

  /** Changes a cgroup and measures how long that takes. */
  update(name: CgroupName, values: CgroupValues): Promise<void> {
    return this.#timed('update', () => this.#options.control.update(name, values));
  }

  /** Awaits the work in the background. */
  async stop(): Promise<void> {
    await Promise.all(this.#endings.values());
  }

  /** Refuses a partial cgroup: its pod would not be limited, and every pass would find it missing. */
  async #make(pod: Pod, name: CgroupName): Promise<void> {
    const { control } = this.#options;
    this.#listed = undefined;
    await this.#timed('create', async () => {
      await control.create(name, this.bounds.values(pod));
      await this.#writeFirst(pod, name);
    });
    const gap = control.gap(name);
    if (gap !== undefined) throw new Error(gapText(name, gap));
  }

  /** A pod without limits yet is better than no pod. */
  async #writeFirst(pod: Pod, name: CgroupName): Promise<void> {
    const { control, timeline } = this.#options;
    try {
      await control.update(name, this.bounds.values(pod));
    } catch (error) {
      timeline.record({
        kind: 'problem',
        what: 'cgroup.write',
        message: `could not set the pod's limits in its cgroup ${control.naming.pathOf(name)}: ${errorText(error)}`,
        pod: podRef(pod),
        error,
      });
    }
  }

  /** Ends all cgroups that there are of the pod, and `own` in any case: systemd may know it without a directory. */
  async #end(uid: string, own?: CgroupName): Promise<void> {
    const { control, names, kill } = this.#options;
    const all = names.parents.map((parent) => podCgroup(parent, uid));
    await this.#timed('destroy', async () => {
      for (const name of all) {
        if (control.isThere(name) || String(name) === String(own)) await destroyCgroup(control, name, kill);
      }
    });
    this.#listed = undefined;
    this.#finished.delete(uid);
    await this.#updateTiers();
  }

  /** A tier with old shares is better than no pod; the next update puts it right. */
  async #updateTiers(): Promise<void> {
    try {
      await this.tiers.update();
    } catch (error) {
      const message = `could not update the cgroups of the QoS classes: ${errorText(error)}`;
      this.#options.timeline.record({ kind: 'problem', what: 'cgroup.keep', message, error });
    }
  }

  async #timed(operation: CgroupOperation, work: () => Promise<void>): Promise<void> {
    const { clock } = this.#options;
    const startMs = clock.monotonic();
    await work();
    const labels = { operation_type: operation };
    this.#metrics.operationDuration.observe((clock.monotonic() - startMs) / 1000, labels);
  }
}
