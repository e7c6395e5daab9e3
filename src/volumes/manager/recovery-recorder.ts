/** Reports to the timeline and to metrics what an earlier run left of volumes, and what became of it. */
import type { PodRef, Timeline } from '../../timeline/index.js';
import type { VolumeMetrics } from '../metrics.js';
import type { Leftover, Reconstruction } from './reconstruct.js';

export class RecoveryRecorder {
  readonly #timeline: Timeline;
  readonly #metrics: VolumeMetrics;

  constructor(timeline: Timeline, metrics: VolumeMetrics) {
    this.#timeline = timeline;
    this.#metrics = metrics;
  }

  shared(rootDir: string): void {
    this.#timeline.record({
      kind: 'effect',
      what: 'volume.share',
      message: `mounts below ${rootDir} are shared`,
      because: 'containers with mount propagation need that',
      level: 'debug',
    });
  }

  notShared(rootDir: string, error: unknown): void {
    this.#timeline.record({
      kind: 'problem',
      what: 'volume.share',
      message: `mounts below ${rootDir} are not shared; volumes with mountPropagation will not work`,
      level: 'warn',
      error,
    });
  }

  reconstructed({ mounts, devices, leftovers, unknownDevices, problems }: Reconstruction): void {
    this.#metrics.reconstructed.inc({}, mounts.length + leftovers.length + unknownDevices.length);
    this.#metrics.reconstructErrors.inc({}, leftovers.length + unknownDevices.length);
    for (const { path, problem } of unknownDevices) {
      this.#timeline.record({
        kind: 'problem',
        what: 'volume.leftover',
        message: `${path} stays as it is: it is not known which volume is mounted there`,
        because: 'an earlier run left it',
        error: problem,
        level: 'warn',
      });
    }
    for (const problem of problems) {
      this.#timeline.record({
        kind: 'problem',
        what: 'volume.reconstruct',
        message: `could not read a volume directory, so its mounts are unknown: ${problem}`,
      });
    }
    if (mounts.length + leftovers.length === 0) return;
    this.#timeline.record({
      kind: 'observation',
      what: 'volume.reconstruct',
      message: `found volumes of an earlier run`,
      level: 'info',
      data: { volumes: mounts.length, devices: devices.length, unknown: leftovers.length },
    });
  }

  leftoverCleaned(leftover: Leftover): void {
    this.#metrics.cleaned.inc();
    this.#timeline.record({
      kind: 'effect',
      what: 'volume.leftover',
      message: `removed ${leftover.path}`,
      ...aboutLeftover(leftover),
    });
  }

  leftoverKept(leftover: Leftover, error: unknown): void {
    this.#metrics.cleaned.inc();
    this.#metrics.cleanErrors.inc();
    this.#timeline.record({
      kind: 'problem',
      what: 'volume.leftover',
      message: `could not remove ${leftover.path}`,
      ...aboutLeftover(leftover),
      error,
    });
  }

  subPathsCleaned(podUid: string, innerName: string): void {
    this.#timeline.record({
      kind: 'effect',
      what: 'volume.leftover',
      message: `removed the subPath mounts of volume ${innerName}`,
      because: 'an earlier run left them, and nothing of the pod runs',
      pod: unnamed(podUid),
    });
  }

  subPathsKept(podUid: string, innerName: string, error: unknown): void {
    this.#timeline.record({
      kind: 'problem',
      what: 'volume.leftover',
      message: `could not remove the subPath mounts of volume ${innerName}`,
      because: 'an earlier run left them, and nothing of the pod runs',
      pod: unnamed(podUid),
      error,
    });
  }
}

function aboutLeftover({ podUid, pluginName, problem }: Leftover): { because: string; pod: PodRef } {
  return {
    because: `an earlier run left it, and for its kind ${pluginName}: ${problem}`,
    pod: unnamed(podUid),
  };
}

/** Of a pod that ended before the agent started, only the UID is known. */
export function unnamed(uid: string): PodRef {
  return { uid, name: '', namespace: '' };
}
