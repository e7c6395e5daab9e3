/** Reports volume operations to the timeline and to metrics, never anything of the content. */
import { BoundedMap, type Clock, errorText } from '../../async/index.js';
import { formatDuration, formatNanoTimestampOfMs, goQuote, type Pod } from '../../kube/index.js';
import { type PodRef, podRef, type Timeline } from '../../timeline/index.js';
import { FileSystemMismatch } from '../contracts.js';
import type { ExpansionSubject } from '../expansion/index.js';
import type { VolumeMetrics } from '../metrics.js';
import type { MappedPaths } from './block-operations.js';
import { DriverWaits } from './driver-waits.js';
import { isMigrated, type MeasuredVolume, pluginLabel } from './metric-labels.js';
import { FailedMount } from './mount-operation.js';
import type { OperationName } from './operations.js';
import type { PlannedOperation } from './plan.js';
import { unnamed } from './recovery-recorder.js';
import type { ActualMount, WantedMount } from './states.js';

const verbs: Readonly<
  Record<
    OperationName,
    {
      readonly what:
        | 'volume.mount'
        | 'volume.unmount'
        | 'volume.unmountDevice'
        | 'volume.map'
        | 'volume.unmap'
        | 'volume.unmapDevice'
        | 'volume.expand';
      readonly done: string;
      readonly undone: string;
    }
  >
> = {
  volume_mount: { what: 'volume.mount', done: 'mounted', undone: 'not mounted' },
  volume_unmount: { what: 'volume.unmount', done: 'unmounted', undone: 'not unmounted' },
  unmount_device: {
    what: 'volume.unmountDevice',
    done: 'unmounted the device of',
    undone: 'did not unmount the device of',
  },
  map_volume: { what: 'volume.map', done: 'mapped', undone: 'not mapped' },
  unmap_volume: { what: 'volume.unmap', done: 'unmapped', undone: 'not unmapped' },
  unmap_device: {
    what: 'volume.unmapDevice',
    done: 'released the device of',
    undone: 'did not release the device of',
  },
  volume_fs_resize: { what: 'volume.expand', done: 'expanded', undone: 'not expanded' },
};

/** What users are told of a failure; of the others only the log tells. */
const failureEvents: Readonly<Partial<Record<OperationName, string>>> = {
  volume_mount: 'FailedMount',
  map_volume: 'FailedMapVolume',
  volume_fs_resize: 'VolumeResizeFailed',
};

export class VolumeRecorder {
  readonly #timeline: Timeline;
  readonly #clock: Clock;
  readonly #metrics: VolumeMetrics;
  readonly waits: DriverWaits;
  readonly #toldResizes = new BoundedMap<string, true>({ maxEntries: 1000 });

  constructor(timeline: Timeline, clock: Clock, metrics: VolumeMetrics) {
    this.#timeline = timeline;
    this.#clock = clock;
    this.#metrics = metrics;
    this.waits = new DriverWaits(timeline, clock);
  }

  /** Every sync refreshes and would push out the pod's history, so a refresh is recorded only when it ends a failure. */
  done(operation: PlannedOperation, durationMs: number, hadFailed: boolean): void {
    const { pluginName, innerName } = subjectOf(operation);
    const isRemount = 'isRemount' in operation && operation.isRemount;
    this.#measure(operation, 'success', durationMs);
    const waiting = waitingIn(operation);
    if (waiting !== undefined) this.waits.end(waiting);
    if ('isRoutine' in operation && operation.isRoutine && !hadFailed) return;
    this.#timeline.record({
      kind: 'effect',
      what: verbs[operation.name].what,
      message: `${isRemount ? 'refreshed' : verbs[operation.name].done} volume ${innerName}`,
      because: operation.because,
      ...podOf(operation),
      durationMs,
      data: { plugin: pluginName, volume: operation.key.uniqueName },
    });
  }

  failed(operation: PlannedOperation, error: unknown, delayMs: number, durationMs: number): void {
    const { pluginName, innerName } = subjectOf(operation);
    this.#measure(operation, 'fail-unknown', durationMs);
    const { pod } = podOf(operation);
    const reason = error instanceof FailedMount ? error.eventReason : failureEvents[operation.name];
    if (reason !== undefined && pod !== undefined) {
      this.#timeline.event(pod, 'Warning', reason, errorText(error));
    }
    this.#tellMismatch(operation, error);
    const waiting = waitingIn(operation);
    if (waiting !== undefined) this.waits.failed(waiting, error, this.#clock.now() + delayMs);
    const untilText = formatNanoTimestampOfMs(this.#clock.now() + delayMs);
    this.#timeline.record({
      kind: 'problem',
      what: verbs[operation.name].what,
      message: `${verbs[operation.name].undone} volume ${innerName}: Operation for ${goQuote(operation.key.uniqueName)} failed. No retries permitted until ${untilText} (durationBeforeRetry ${formatDuration(delayMs)}).`,
      because: operation.because,
      // An event already reports it.
      level: reason === undefined ? 'warn' : 'debug',
      ...(pod === undefined ? {} : { pod }),
      error,
      data: { plugin: pluginName, volume: operation.key.uniqueName },
    });
  }

  /** Whoever made the volume can help. */
  #tellMismatch(operation: PlannedOperation, error: unknown): void {
    if (operation.name !== 'volume_mount' || !(error instanceof FailedMount)) return;
    const { spec, innerName } = operation.wanted;
    if (spec.kind !== 'persistent' || !(error.cause instanceof FileSystemMismatch)) return;
    const { name = innerName, uid = '' } = spec.persistentVolume.metadata;
    const message = `MountVolume failed for volume ${goQuote(innerName)} ${error.cause.message}`;
    this.#timeline.volumeEvent({ name, uid }, 'Warning', 'FailedMountOnFilesystemMismatch', message);
  }

  /** Users of block volumes are told where the device is. */
  mapped({ pod, innerName }: WantedMount, { globalMapPath, volumeMapPath }: MappedPaths): void {
    const text = `MapVolume.MapPodDevice succeeded for volume ${goQuote(innerName)}`;
    const told = { globalMapPath, volumeMapPath };
    for (const [name, path] of Object.entries(told)) {
      this.#timeline.event(
        podRef(pod),
        'Normal',
        'SuccessfulMountVolume',
        `${text} ${name} ${goQuote(path)}`,
      );
    }
  }

  /** Told of the pod and of its claim; a failure once for each pod, as every refresh finds the same. */
  resizeTold(
    { pod, innerName, claim }: ExpansionSubject,
    type: 'Normal' | 'Warning',
    reason: string,
    message: string,
  ): void {
    const key = `${pod.metadata.uid} ${innerName} ${reason}`;
    if (type === 'Warning' && this.#toldResizes.has(key)) return;
    this.#toldResizes.set(key, true);
    this.#timeline.event(podRef(pod), type, reason, message);
    this.#timeline.claimEvent(claim, type, reason, message);
  }

  /** An object shown in the pod's volumes has changed. */
  refreshing(pod: Pod): void {
    this.#timeline.record({
      kind: 'decision',
      what: 'volume.refresh',
      message: 'refreshing volumes',
      because: 'an object that the pod uses has changed',
      pod: podRef(pod),
    });
  }

  labelsUnknown(error: unknown): void {
    this.#timeline.record({
      kind: 'problem',
      what: 'volume.selinux',
      message: 'volumes are relabelled by the runtime instead of being mounted with their SELinux labels',
      because: 'the SELinux policy of the machine cannot be read',
      level: 'warn',
      error,
    });
  }

  /** Users learn only that it failed: the details would reveal files of the node. */
  subPathFailed(pod: Pod, container: string, mount: string, error: unknown): void {
    this.#timeline.record({
      kind: 'problem',
      what: 'volume.subPath',
      message: `the subPath of volumeMount ${mount} is not usable`,
      because: `container ${container} is about to be created`,
      pod: podRef(pod),
      container,
      level: 'warn',
      error,
    });
  }

  broken(task: string, error: unknown): void {
    this.#timeline.record({ kind: 'problem', what: 'volume.task', message: `${task} failed`, error });
  }

  /** From the moment that the volume was wanted; of a refresh, from its beginning. */
  mountedAfter(wanted: WantedMount, durationMs: number): void {
    const labels = { plugin_name: pluginLabel(wanted), operation_name: 'overall_volume_mount' };
    this.#metrics.overallDuration.observe(durationMs / 1000, labels);
  }

  #measure(operation: PlannedOperation, status: 'success' | 'fail-unknown', durationMs: number): void {
    const labels = {
      volume_plugin: pluginLabel(subjectOf(operation)),
      operation_name: operation.name,
      status,
      migrated: String(isMigrated(operation)),
    };
    this.#metrics.operationDuration.observe(durationMs / 1000, labels);
  }
}

function subjectOf(operation: PlannedOperation): MeasuredVolume & { readonly innerName: string } {
  switch (operation.name) {
    case 'volume_mount':
    case 'volume_fs_resize':
    case 'map_volume':
      return operation.wanted;
    case 'volume_unmount':
    case 'unmap_volume':
      return operation.mount;
    case 'unmount_device':
    case 'unmap_device':
      return operation.device;
  }
}

/** The volume whose pod waits for the operation. */
function waitingIn(operation: PlannedOperation): WantedMount | ActualMount | undefined {
  switch (operation.name) {
    case 'volume_mount':
    case 'map_volume':
      return operation.wanted;
    case 'volume_unmount':
    case 'unmap_volume':
      return operation.mount;
    case 'unmount_device':
    case 'unmap_device':
    case 'volume_fs_resize':
      return undefined;
  }
}

function podOf(operation: PlannedOperation): { pod?: PodRef } {
  switch (operation.name) {
    case 'volume_mount':
    case 'volume_fs_resize':
    case 'map_volume':
      return { pod: podRef(operation.wanted.pod) };
    case 'volume_unmount':
    case 'unmap_volume':
      return { pod: operation.mount.owner ?? unnamed(operation.mount.podUid) };
    case 'unmount_device':
    case 'unmap_device':
      return {};
  }
}
