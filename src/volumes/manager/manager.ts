/** The volume manager: the kubelet's interface to its pods' volumes. */

import { join } from 'node:path/posix';
import { type Clock, isCancelled, sleep, TaskGroup } from '../../async/index.js';
import type { Device, Init, Mount } from '../../cri/index.js';
import type { Host } from '../../host/index.js';
import type { AnyContainer, Pod } from '../../kube/index.js';
import type { Timeline } from '../../timeline/index.js';
import type { ClaimStore, ObservedVolume, VolumeFigures, VolumePlugin } from '../contracts.js';
import { createVolumeMetrics, type VolumeCounts, type VolumeMetrics } from '../metrics.js';
import { AttachmentBook, type VolumeAttachments } from './attachments.js';
import type { VolumeMountContext } from './container-mounts.js';
import { LabelBook } from './label-book.js';
import { Leftovers } from './leftovers.js';
import { type MeasuredVolume, pluginLabel } from './metric-labels.js';
import { MountedVolumes } from './mounted-volumes.js';
import type { NodeIdentity } from './node-affinity.js';
import { OperationExecutor } from './operation-executor.js';
import { PodProcessor } from './pod-processor.js';
import { Reconciler, type VolumePods } from './reconciler.js';
import { reconstruct, reconstructPod } from './reconstruct.js';
import { RecoveryRecorder } from './recovery-recorder.js';
import { VolumeRecorder } from './volume-recorder.js';
import { VolumeWaits } from './volume-waits.js';

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
  readonly #recovery: RecoveryRecorder;
  readonly #operator: OperationExecutor;
  readonly #leftovers: Leftovers;
  readonly #reconciler: Reconciler;
  readonly #attachments: AttachmentBook;
  readonly #labels: LabelBook;
  readonly #mounted: MountedVolumes;
  readonly #waits: VolumeWaits;
  readonly #tasks: TaskGroup;
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
    this.#recovery = new RecoveryRecorder(timeline, metrics);
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
    this.#leftovers = new Leftovers({ host, podDirectory, plugins, notes: this.#recovery });
    this.#reconciler = new Reconciler({
      clock,
      pods,
      notes: this.#notes,
      operator: this.#operator,
      leftovers: this.#leftovers,
      attachments: this.#attachments,
      ...(operationsAtOnce === undefined ? {} : { operationsAtOnce }),
    });
    const processor = new PodProcessor({
      plugins,
      claims: options.claims,
      labels: this.#labels,
      reconciler: this.#reconciler,
      operator: this.#operator,
    });
    const { desired } = this.#reconciler;
    const { supportsRecursiveReadOnly, isSelinuxEnabled } = options;
    this.#mounted = new MountedVolumes({
      host,
      desired,
      operator: this.#operator,
      podDirectory,
      supportsRecursiveReadOnly,
      isSelinuxEnabled,
      onSubPathFailed: (...failure) => this.#notes.subPathFailed(...failure),
    });
    this.#waits = new VolumeWaits({
      clock,
      host,
      desired,
      operator: this.#operator,
      attachments: this.#attachments,
      ready: () => this.start(),
      process: (pod, signal) => processor.process(pod, signal),
      until: (isDone, signal) => this.#reconciler.until(isDone, signal),
      exist: (uid) => this.exist(uid),
      podDirectory,
      findAgain: (uid) => this.#findAgain(uid),
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
  waitForMounts(pod: Pod, signal: AbortSignal): Promise<void> {
    return this.#waits.mounted(pod, signal);
  }

  /** Resolves once none of the pod's volumes is or may be mounted. Nothing of the pod may be running. */
  waitForUnmounts(pod: Pod, signal: AbortSignal): Promise<void> {
    return this.#waits.unmounted(pod, signal);
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
    return this.#mounted.mounts(pod, container, surroundings);
  }

  /** The devices of a container: block volumes, which must be known to be mapped. */
  devices(pod: Pod, container: AnyContainer): Promise<readonly Init<Device>[]> {
    return this.#mounted.devices(pod, container);
  }

  /** The path of a pod's volume on the machine; undefined while it is not mounted, and for block volumes. */
  volumeDirectory(pod: Pod, volumeName: string): string | undefined {
    return this.#mounted.directory(pod, volumeName);
  }

  /** The driver of a mounted volume, if it has one. */
  volumeDriver(pod: Pod, volumeName: string): string | undefined {
    return this.#mounted.driver(pod, volumeName);
  }

  /** Gives a mounted volume in memory another size; rejects if it is not mounted, or holds more than that. */
  resizeVolume(pod: Pod, volumeName: string, sizeBytes: bigint, signal?: AbortSignal): Promise<void> {
    return this.#mounted.resize(pod, volumeName, sizeBytes, signal);
  }

  /** How full a mounted volume is, by its driver; undefined if no driver tells. */
  measureVolume(pod: Pod, volumeName: string, signal: AbortSignal): Promise<VolumeFigures | undefined> {
    return this.#mounted.measure(pod, volumeName, signal);
  }

  /** The volumes of drivers that are or may be mounted, with the way to ask for their health. */
  observedVolumes(): readonly ObservedVolume[] {
    return this.#mounted.observed();
  }

  /** Groups that the pod's persistent volumes require. */
  volumeGroups(pod: Pod): readonly number[] {
    return this.#mounted.groups(pod);
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
      () => this.#recovery.shared(rootDir),
      (error: unknown) => this.#recovery.notShared(rootDir, error),
    );
    const found = await reconstruct(host, rootDir, plugins);
    this.#operator.adopt(this.#labels.known(found.mounts), this.#labels.known(found.devices));
    this.#leftovers.take(found);
    this.#recovery.reconstructed(found);
    this.#attachments.open(found.devices.map(({ uniqueName }) => uniqueName));
    if (!this.#attachments.isResolved) {
      this.#tasks.start('reading what is attached', (signal) => this.#readAttached(signal));
    }
    this.#reconciler.open();
  }

  /** Of a pod that is known to have no volume. */
  async #findAgain(uid: string): Promise<boolean> {
    const { host, rootDir, plugins } = this.#options;
    const found = await reconstructPod(host, rootDir, plugins, uid);
    const { devices } = this.#operator.actual;
    this.#operator.adopt(
      this.#labels.known(found.mounts),
      this.#labels.known(found.devices.filter(({ uniqueName }) => !devices.has(uniqueName))),
    );
    this.#reconciler.look();
    return found.mounts.length > 0;
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

  #podDirectory(uid: string): string {
    return join(this.#options.rootDir, 'pods', uid);
  }
}

function countByPlugin(volumes: Iterable<MeasuredVolume>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const volume of volumes) {
    const label = pluginLabel(volume);
    counts.set(label, (counts.get(label) ?? 0) + 1);
  }
  return counts;
}
