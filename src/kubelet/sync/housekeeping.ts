/** Housekeeping: makes the world agree with the configured pods, one full pass soon after each change. */
import { errorText } from '../../async/index.js';
import type { ObservedPod } from '../../cri/index.js';
import { isStaticPod, isTerminalPhase, type Pod, type PodStatus } from '../../kube/index.js';
import type { PodManager } from '../../pods/desired/index.js';
import type { KnownWorker, PodWorkers } from '../../pods/workers/index.js';
import type { Timeline } from '../../timeline/index.js';
import { filterActive } from '../admission/active-pods.js';
import { countPods, countWorkers, type KubeletMetrics, staticLabel } from '../metrics.js';
import type { PodCgroups } from '../ports.js';

export interface HousekeepingOptions {
  readonly timeline: Timeline;
  readonly pods: PodManager;
  readonly workers: PodWorkers;
  readonly statuses: {
    get(uid: string): PodStatus | undefined;
    removeOrphaned(known: ReadonlySet<string>): void;
  };
  /** Pods that are not admitted until others have made room for them. */
  readonly waiting?: () => ReadonlySet<string>;
  /** The pods that the last observation showed; cheap. */
  readonly observedPods: () => readonly ObservedPod[];
  /** Asks the runtime which pods run right now. */
  readonly listRunningPods: () => Promise<readonly ObservedPod[]>;
  /** Returns whether nothing is left to clean. */
  readonly cleanPodDirectories: (known: ReadonlySet<string>) => Promise<boolean>;
  readonly collectBackoff: () => void;
  readonly metrics: KubeletMetrics;
  readonly cgroups?: PodCgroups;
  /** Deletes mirrors that have no static pod any more; the API may take its time, so nobody waits for it. */
  readonly deleteMirrorsSoon?: (fullNames: readonly string[]) => void;
  readonly podVolumesExist: (uid: string) => boolean;
  /** Stops the probes of pods that cannot be running. */
  readonly keepProbesOf?: (uids: ReadonlySet<string>) => void;
  /** Told which pods the node has: those that are configured and those that are still being stopped. */
  readonly forgetOthers?: (present: ReadonlySet<string>) => void;
}

export class Housekeeping {
  readonly #options: HousekeepingOptions;

  constructor(options: HousekeepingOptions) {
    this.#options = options;
  }

  /** Returns `settled` when another pass would find nothing to do unless something changes that somebody tells of. */
  async run(): Promise<'settled' | 'unsettled'> {
    const { pods, workers, statuses, metrics, timeline } = this.#options;
    const cgroupPods = await this.#listCgroups();

    const all = pods.list();
    const mirrorPods = pods.mirrors();
    const orphanedMirrors = pods.orphanedMirrors();
    const uids = new Set(all.map((pod) => pod.metadata.uid));
    const known = workers.syncKnown(uids);
    // They have no worker yet, and are neither started here nor taken for orphans.
    for (const pod of all) {
      const { uid } = pod.metadata;
      if (this.#options.waiting?.().has(uid) !== true || known.has(uid)) continue;
      known.set(uid, { state: 'sync', orphan: false, hasConfig: true, isStatic: isStaticPod(pod) });
    }
    const possiblyRunning = new Set(
      [...known].filter(([, worker]) => worker.state !== 'terminated').map(([uid]) => uid),
    );
    const running = await this.#runningPods(known);

    this.#options.keepProbesOf?.(possiblyRunning);
    // A pod that is still being stopped keeps its status until its worker is done with it.
    statuses.removeOrphaned(
      new Set([...uids, ...known.keys(), ...mirrorPods.map((mirror) => mirror.metadata.uid)]),
    );
    let areDirectoriesClean = false;
    try {
      areDirectoriesClean = await this.#options.cleanPodDirectories(
        new Set([...uids, ...running.map((pod) => pod.uid)]),
      );
    } catch (error) {
      timeline.record({
        kind: 'problem',
        what: 'directories.clean',
        message: 'cleaning up pod directories failed',
        error,
      });
    }
    this.#options.deleteMirrorsSoon?.(
      orphanedMirrors.filter((fullName) => !workers.isStaticPodTerminating(fullName)),
    );

    const active = filterActive(all, { workers, statuses });
    this.#restart(active, known);
    this.#finishRejected(all, known, running);
    this.#killOrphans(running, known);
    countPods(metrics.desiredPods, all);
    countPods(metrics.activePods, active);
    metrics.mirrorPods.set(mirrorPods.length);
    countWorkers(metrics.workingPods, known.values());
    await this.#cleanCgroups(cgroupPods, possiblyRunning);
    this.#options.collectBackoff();
    this.#options.forgetOthers?.(new Set([...uids, ...known.keys()]));
    const isSettled =
      areDirectoriesClean &&
      orphanedMirrors.length === 0 &&
      (this.#options.waiting?.().size ?? 0) === 0 &&
      cgroupPods.every((uid) => possiblyRunning.has(uid)) &&
      [...known].every(([uid, worker]) => uids.has(uid) && worker.state !== 'terminating') &&
      all.every(({ metadata }) => known.has(metadata.uid) || metadata.deletionTimestamp === undefined);
    return isSettled ? 'settled' : 'unsettled';
  }

  async #listCgroups(): Promise<readonly string[]> {
    try {
      return (await this.#options.cgroups?.list()) ?? [];
    } catch (error) {
      const text = errorText(error);
      throw new Error(`failed to get list of pods that still exist on cgroup mounts: ${text}`, {
        cause: error,
      });
    }
  }

  /**
   * The pods that run. The last observation will do as long as every pod in it has a worker; only when one
   * seems to be an orphan the runtime itself is asked, so that nothing is killed for being gone already.
   */
  async #runningPods(known: ReadonlyMap<string, KnownWorker>): Promise<readonly ObservedPod[]> {
    const observed = this.#options.observedPods().filter(isRunning);
    if (observed.every((pod) => known.has(pod.uid))) return observed;
    return this.#options.listRunningPods();
  }

  /** Active pods without a worker: those whose UID was used again while the former pod was being torn down. */
  #restart(active: readonly Pod[], known: Map<string, KnownWorker>): void {
    const { workers, pods, metrics } = this.#options;
    for (const pod of active) {
      const uid = pod.metadata.uid;
      if (known.has(uid)) continue;
      const mirror = pods.mirrorOf(pod);
      workers.update({ type: 'create', pod, ...(mirror === undefined ? {} : { mirror }) });
      const isStatic = isStaticPod(pod);
      known.set(uid, { state: 'sync', orphan: false, hasConfig: true, isStatic });
      metrics.restartedPods.inc({ static: staticLabel(isStatic) });
    }
  }

  /** Deleted pods that never had a worker, such as refused ones, still have their deletion to be completed. */
  #finishRejected(
    all: readonly Pod[],
    known: ReadonlyMap<string, KnownWorker>,
    running: readonly ObservedPod[],
  ): void {
    for (const pod of all) {
      const uid = pod.metadata.uid;
      if (
        pod.metadata.deletionTimestamp === undefined ||
        !isTerminalPhase(pod.status?.phase) ||
        known.has(uid)
      )
        continue;
      if (running.some((one) => one.uid === uid)) continue;
      this.#options.workers.update({ type: 'kill', pod });
    }
  }

  #killOrphans(running: readonly ObservedPod[], known: Map<string, KnownWorker>): void {
    for (const pod of running) {
      if (known.has(pod.uid)) continue;
      this.#options.timeline.record({
        kind: 'decision',
        what: 'pod.orphan',
        message: 'a pod that is not configured runs; it is stopped',
        because: 'no source has it',
        pod: { uid: pod.uid, name: pod.name, namespace: pod.namespace },
      });
      this.#options.workers.update({
        type: 'killRuntimePod',
        runtimePod: pod,
        kill: { graceOverrideSeconds: 1 },
      });
      known.set(pod.uid, { state: 'terminating', orphan: true, hasConfig: false, isStatic: false });
      this.#options.metrics.orphanedPods.inc();
    }
  }

  async #cleanCgroups(cgroupPods: readonly string[], possiblyRunning: ReadonlySet<string>): Promise<void> {
    const { cgroups, podVolumesExist } = this.#options;
    if (cgroups === undefined) return;
    for (const uid of cgroupPods) {
      if (possiblyRunning.has(uid)) continue;
      if (podVolumesExist(uid)) await cgroups.minimizeCpu(uid);
      else cgroups.destroyLater(uid);
    }
  }
}

/** Whether the runtime shows anything of the pod that runs. */
export function isRunning(pod: ObservedPod): boolean {
  return (
    pod.sandboxes.some((sandbox) => sandbox.state === 'running') ||
    pod.containers.some((container) => container.state === 'running')
  );
}
