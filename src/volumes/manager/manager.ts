/** The volume manager: the kubelet's interface to its pods' volumes. */

import { join } from 'node:path/posix';
import { type Clock, isCancelled, sleep, TaskGroup, TimedOut, withTimeout } from '../../async/index.js';
import type { Device, Init, Mount } from '../../cri/index.js';
import { type Host, mountPointsUnder, namesIn } from '../../host/index.js';
import type { AnyContainer, Pod } from '../../kube/index.js';
import type { Timeline } from '../../timeline/index.js';
import { AttachLimitReached, type ClaimStore, type VolumeFigures, type VolumePlugin } from '../contracts.js';
import { createVolumeMetrics, type VolumeCounts, type VolumeMetrics } from '../metrics.js';
import { prepareSubPath } from '../subpath/index.js';
import { AttachmentBook, type VolumeAttachments } from './attachments.js';
import { containerDevices } from './container-devices.js';
import {
  type ContainerMountsRequest,
  containerMounts,
  type MountedVolume,
  type VolumeMountContext,
} from './container-mounts.js';
import { usedVolumes } from './desired-state.js';
import { LabelBook } from './label-book.js';
import { Leftovers } from './leftovers.js';
import { type MeasuredVolume, pluginLabel } from './metric-labels.js';
import type { NodeIdentity } from './node-affinity.js';
import { OperationExecutor } from './operation-executor.js';
import { processPod } from './processing.js';
import { Reconciler, type VolumePods } from './reconciler.js';
import { reconstruct } from './reconstruct.js';
import { mountKey, type WantedMount } from './states.js';
import { VolumeRecorder } from './volume-recorder.js';
import { labelWaitText, mountWait, mountWaitText, unmountWaitText } from './wait-texts.js';

export const volumeWaitMs = 123_000;

export interface VolumeManagerOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly host: Host;
  readonly rootDir: string;
  readonly plugins: readonly VolumePlugin[];
  readonly pods: VolumePods;
  readonly node: () => NodeIdentity;
  /** If absent, no pod can use a claim. */
  readonly claims?: ClaimStore;
  readonly supportsRecursiveReadOnly: (runtimeHandler: string) => boolean;
  readonly isSelinuxEnabled: boolean;
  /** Whether volumes of all access modes are mounted with SELinux labels; by default only those for one pod. */
  readonly seLinuxMountsAllModes?: boolean;
  /** Default: metrics that nobody reads. */
  readonly metrics?: VolumeMetrics;
  readonly operationsAtOnce?: number;
  /** What the cluster attaches to this node; without it nothing needs attaching. */
  readonly attachments?: VolumeAttachments | undefined;
}

/** Between two attempts to learn what is attached. */
const attachedRetryMs = 1_000;

export class VolumeManager {
  readonly #options: VolumeManagerOptions;
  readonly #notes: VolumeRecorder;
  readonly #operator: OperationExecutor;
  readonly #leftovers: Leftovers;
  readonly #reconciler: Reconciler;
  readonly #attachments: AttachmentBook;
  readonly #labels: LabelBook;
  readonly #tasks: TaskGroup;
  /** By pod: the latest round of processing. */
  readonly #rounds = new Map<string, object>();
  #started: Promise<void> | undefined;

  constructor(options: VolumeManagerOptions) {
    this.#options = options;
    const {
      clock,
      timeline,
      host,
      plugins,
      node,
      pods,
      operationsAtOnce,
      metrics = createVolumeMetrics(),
    } = options;
    const podDirectory = (uid: string): string => this.#podDirectory(uid);
    this.#notes = new VolumeRecorder(timeline, clock, metrics);
    this.#tasks = new TaskGroup({ onError: (task, error) => this.#notes.broken(task, error) });
    this.#attachments = new AttachmentBook(plugins, options.attachments);
    this.#labels = new LabelBook({
      isEnabled: options.isSelinuxEnabled,
      allModes: options.seLinuxMountsAllModes === true,
      metrics,
      plugin: (wanted) => this.#operator.plugin(wanted),
      host,
      onUnknown: (error) => this.#notes.labelsUnknown(error),
    });
    const statuses = options.claims?.statuses;
    this.#operator = new OperationExecutor({
      host,
      plugins,
      node,
      podDirectory,
      onStep: (volume, step) => this.#notes.waits.begin(volume, step),
      expansion: statuses && {
        clock,
        statuses,
        tell: (subject, type, reason, message) => this.#notes.resizeTold(subject, type, reason, message),
      },
      onMapped: (wanted, paths) => this.#notes.mapped(wanted, paths),
    });
    this.#leftovers = new Leftovers({ host, podDirectory, plugins, notes: this.#notes });
    this.#reconciler = new Reconciler({
      clock,
      pods,
      notes: this.#notes,
      operator: this.#operator,
      leftovers: this.#leftovers,
      attachments: this.#attachments,
      ...(operationsAtOnce === undefined ? {} : { operationsAtOnce }),
    });
  }

  /** Takes over what an earlier run left; must be called before any pod is processed. */
  start(): Promise<void> {
    this.#started ??= this.#reconstruct();
    return this.#started;
  }

  /** Cancels what can be cancelled, and awaits every running operation. */
  async stop(): Promise<void> {
    await this.#tasks.stop();
    await this.#reconciler.stop();
    await this.#started;
  }

  /** Resolves once all volumes that the pod's containers use are mounted. */
  async waitForMounts(pod: Pod, signal: AbortSignal): Promise<void> {
    if (usedVolumes(pod).length === 0) return;
    const missing = () =>
      mountWait(pod, this.#reconciler.desired, this.#operator.actual, (wanted) =>
        this.#attachments.isAttached(wanted),
      );
    try {
      await withTimeout(this.#options.clock, volumeWaitMs, signal, async (limit) => {
        await this.start();
        const problems = await this.#process(pod, limit);
        if (problems.length > 0) throw new Error(problems.join('; '));
        await this.#reconciler.until(() => missing().unmounted.length === 0, limit);
      });
    } catch (error) {
      if (isCancelled(error)) throw error;
      const wait = missing();
      if (wait.unmounted.length === 0) return;
      const labelWait =
        error instanceof TimedOut
          ? labelWaitText(pod, this.#reconciler.desired, this.#operator.actual)
          : undefined;
      const text = mountWaitText(wait, labelWait ?? problemText(error));
      if (error instanceof TimedOut && (await this.#isLimitReached(pod, wait.unattached, signal))) {
        throw new AttachLimitReached(`Node has reached its volume attachment limit, rejecting pod. ${text}`, {
          cause: error,
        });
      }
      throw new Error(text, { cause: error });
    }
  }

  /** Resolves once none of the pod's volumes is or may be mounted. Nothing of the pod may be running. */
  async waitForUnmounts(pod: Pod, signal: AbortSignal): Promise<void> {
    const { uid } = pod.metadata;
    try {
      await withTimeout(this.#options.clock, volumeWaitMs, signal, async (limit) => {
        await this.start();
        await this.#reconciler.until(() => !this.exist(uid), limit);
      });
    } catch (error) {
      if (isCancelled(error)) throw error;
      const ofPod = [...this.#operator.actual.mounts.values()].filter(({ podUid }) => podUid === uid);
      const names = ofPod.map(({ uniqueName }) => uniqueName);
      throw new Error(unmountWaitText(names, problemText(error)), { cause: error });
    }
    const { host } = this.#options;
    const volumes = join(this.#podDirectory(uid), 'volumes');
    // Usually nothing is left, and reading the mount table is slow where many pods run.
    if (await hasNothingIn(host, volumes)) return;
    const left = await mountPointsUnder(host, volumes);
    if (left.length === 0) return;
    const targets = left.map(({ target }) => target);
    throw new Error(unmountWaitText(targets, 'no volume of the pod accounts for these mounts; unmount them'));
  }

  /** Whether any volume of the pod is or may be mounted. */
  exist(uid: string): boolean {
    for (const { podUid } of this.#operator.actual.mounts.values()) if (podUid === uid) return true;
    return this.#reconciler.isBusyWith(uid);
  }

  /** The mounts of a container, which may use only volumes known to be mounted. */
  mounts(
    pod: Pod,
    container: AnyContainer,
    surroundings: VolumeMountContext,
  ): Promise<readonly Init<Mount>[]> {
    const { supportsRecursiveReadOnly, isSelinuxEnabled } = this.#options;
    return containerMounts({
      pod,
      container,
      surroundings,
      supportsRecursiveReadOnly,
      isSelinuxEnabled,
      volume: (name) => this.#mountedVolume(pod, name),
      bindSubPath: (bind) => this.#bindSubPath(pod, container, bind),
    });
  }

  /** The devices of a container: block volumes, which must be known to be mapped. */
  devices(pod: Pod, container: AnyContainer): Promise<readonly Init<Device>[]> {
    return containerDevices({
      container,
      volume: (name) => {
        const wanted = this.#mountedVolume(pod, name)?.wanted;
        return wanted?.mode === 'Block' ? wanted : undefined;
      },
      device: (wanted) => this.#operator.mappedDevice(wanted),
    });
  }

  /** The path of a pod's volume on the machine; undefined while it is not mounted, and for block volumes. */
  volumeDirectory(pod: Pod, volumeName: string): string | undefined {
    const volume = this.#mountedVolume(pod, volumeName);
    if (volume?.wanted.mode === 'Block') return undefined;
    return volume?.plugin.hostPath(volume.wanted.spec, volume.wanted.podUid);
  }

  /** The driver of a mounted volume, if it has one. */
  volumeDriver(pod: Pod, volumeName: string): string | undefined {
    return this.#mountedVolume(pod, volumeName)?.wanted.driver;
  }

  /** How full a mounted volume is, by its driver; undefined if no driver tells. */
  async measureVolume(pod: Pod, volumeName: string, signal: AbortSignal): Promise<VolumeFigures | undefined> {
    const volume = this.#mountedVolume(pod, volumeName);
    return volume?.plugin.measure?.(volume.wanted.spec, volume.wanted.podUid, signal);
  }

  /** Groups that the pod's persistent volumes require. */
  volumeGroups(pod: Pod): readonly number[] {
    const own = pod.spec.securityContext?.supplementalGroups ?? [];
    const groups = new Set<number>();
    for (const { podUid, extraGroup } of this.#reconciler.desired.values()) {
      if (podUid !== pod.metadata.uid || extraGroup === undefined) continue;
      if (!own.includes(extraGroup)) groups.add(extraGroup);
    }
    return [...groups];
  }

  /** Call when objects shown in these pods' volumes have changed: the volumes are retried or refreshed at once. */
  objectsChanged(uids: ReadonlySet<string>): void {
    const refreshed = new Map<string, Pod>();
    for (const wanted of this.#reconciler.desired.values()) {
      if (!uids.has(wanted.podUid)) continue;
      this.#reconciler.retry(wanted);
      this.#operator.markStale(wanted);
      if (wanted.refreshes) refreshed.set(wanted.podUid, wanted.pod);
    }
    for (const pod of refreshed.values()) this.#notes.refreshing(pod);
    this.#reconciler.look();
  }

  /** Unique names of the volumes that nobody may detach; undefined while that is not known. */
  volumesInUse(): readonly string[] | undefined {
    return this.#attachments.inUse(this.#reconciler.desired, this.#operator.actual);
  }

  /** Call with what the cluster has been told to be in use. */
  volumesReported(names: readonly string[]): void {
    this.#attachments.reported(names);
    this.#reconciler.look();
  }

  /** Call when what the cluster has attached, or needs to attach, may have changed. */
  attachmentsChanged(): void {
    this.#reconciler.look();
  }

  /** Call when a driver of the plugin can be used again: what failed without it is tried at once. */
  driverReady(pluginName: string): void {
    this.#reconciler.retryPlugin(pluginName);
  }

  /** Call when pods may have ended; does nothing unless an operation waits for that. */
  podsChanged(): void {
    this.#reconciler.podsChanged();
  }

  /** The number of volumes by plugin. */
  counts(): VolumeCounts {
    return {
      desired: countByPlugin(this.#reconciler.desired.values()),
      actual: countByPlugin(this.#operator.actual.mounts.values()),
    };
  }

  async #reconstruct(): Promise<void> {
    const { host, rootDir, plugins } = this.#options;
    // Without this, mounts would not propagate between containers and the machine.
    await host.mounts.makeShared(rootDir).then(
      () => this.#notes.shared(rootDir),
      (error: unknown) => this.#notes.notShared(rootDir, error),
    );
    const found = await reconstruct(host, rootDir, plugins);
    this.#operator.adopt(this.#labels.known(found.mounts), this.#labels.known(found.devices));
    this.#leftovers.take(found);
    this.#notes.reconstructed(found);
    this.#attachments.open(found.devices.map(({ uniqueName }) => uniqueName));
    if (!this.#attachments.isResolved) {
      this.#tasks.start('reading what is attached', (signal) => this.#readAttached(signal));
    }
    this.#reconciler.open();
  }

  /** Until this is known, an attached volume might be unmounted and detached too early. */
  async #readAttached(signal: AbortSignal): Promise<void> {
    const { attachments, clock } = this.#options;
    while (!this.#attachments.isResolved) {
      try {
        this.#attachments.resolve((await attachments?.read(signal)) ?? new Set());
      } catch (error) {
        if (isCancelled(error)) throw error;
        await sleep(clock, attachedRetryMs, signal);
      }
    }
    this.#reconciler.look();
  }

  /** Updates the desired state from the pod; returns what went wrong. */
  async #process(pod: Pod, signal: AbortSignal): Promise<readonly string[]> {
    const { plugins, claims } = this.#options;
    const { uid } = pod.metadata;
    const round = {};
    this.#rounds.set(uid, round);
    const processed = await processPod(pod, plugins, claims, signal);
    await this.#labels.prepare(pod);
    // A later call has a newer pod; a cancelled pod may have ended.
    if (this.#rounds.get(uid) !== round) return processed.problems;
    this.#rounds.delete(uid);
    if (signal.aborted) return processed.problems;
    const { desired } = this.#reconciler;
    const labelled = this.#labels.labelled(processed.mounts.values(), desired, this.#operator.actual);
    const problems = [...processed.problems, ...labelled.problems];
    for (const wanted of labelled.mounts) {
      this.#noteSize(desired.get(mountKey(wanted)), wanted);
      this.#reconciler.want(wanted);
      if (problems.length === 0) this.#operator.markStale(wanted);
    }
    this.#reconciler.look();
    return problems;
  }

  #noteSize(before: WantedMount | undefined, wanted: WantedMount): void {
    if (wanted.size === undefined) return;
    this.#operator.sizes.seen(wanted.uniqueName, wanted.size.claimBytes);
    if (before?.size?.progress !== wanted.size.progress) this.#reconciler.retryResize(wanted);
  }

  async #isLimitReached(pod: Pod, unattached: readonly string[], signal: AbortSignal): Promise<boolean> {
    for (const wanted of this.#reconciler.desired.values()) {
      if (wanted.podUid !== pod.metadata.uid) continue;
      if (!wanted.volumeNames.some((name) => unattached.includes(name))) continue;
      const { attaching } = this.#operator.plugin(wanted);
      if (await attaching?.isLimitReached?.(wanted.spec, signal)) return true;
    }
    return false;
  }

  #mountedVolume(pod: Pod, name: string): MountedVolume | undefined {
    for (const wanted of this.#reconciler.desired.values()) {
      if (wanted.podUid !== pod.metadata.uid || !wanted.volumeNames.includes(name)) continue;
      if (!this.#operator.isMounted(wanted)) return undefined;
      return { wanted, plugin: this.#operator.plugin(wanted) };
    }
    return undefined;
  }

  async #bindSubPath(
    pod: Pod,
    container: AnyContainer,
    { volume, volumePath, subPath, mountIndex, mount }: Parameters<ContainerMountsRequest['bindSubPath']>[0],
  ): Promise<string> {
    try {
      return await prepareSubPath({
        host: this.#options.host,
        podDirectory: this.#podDirectory(pod.metadata.uid),
        innerVolumeName: volume.wanted.innerName,
        containerName: container.name,
        mountIndex,
        volumePath,
        subPath,
        volumeMountName: mount.name,
      });
    } catch (error) {
      this.#notes.subPathFailed(pod, container.name, mount.name, error);
      throw error;
    }
  }

  #podDirectory(uid: string): string {
    return join(this.#options.rootDir, 'pods', uid);
  }
}

function problemText(error: unknown): string {
  if (error instanceof TimedOut) return 'context deadline exceeded';
  return error instanceof Error ? error.message : String(error);
}

function countByPlugin(volumes: Iterable<MeasuredVolume>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const volume of volumes) {
    const label = pluginLabel(volume);
    counts.set(label, (counts.get(label) ?? 0) + 1);
  }
  return counts;
}

/** Whether there are only empty directories, one per kind of volume. */
async function hasNothingIn({ ownFiles: files }: Host, volumes: string): Promise<boolean> {
  for (const kind of await namesIn({ files }, volumes)) {
    if ((await namesIn({ files }, join(volumes, kind))).length > 0) return false;
  }
  return true;
}
