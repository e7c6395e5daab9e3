/** Tells which step of which driver a pod's volume waits for: since when, with the last error and the next try. */
import { BoundedMap, type Clock } from '../../async/index.js';
import { type PodRef, podRef, type Timeline, type VolumeStep } from '../../timeline/index.js';
import { type ActualMount, mountKey, type WantedMount } from './states.js';

type WaitingVolume = WantedMount | ActualMount;

interface StepBegun {
  readonly step: VolumeStep;
  readonly sinceMs: number;
}

const maxWaits = 10_000;

/** Volumes without a driver have no steps worth telling. */
export class DriverWaits {
  readonly #timeline: Timeline;
  readonly #clock: Clock;
  /** By `mountKey`. */
  readonly #waits = new BoundedMap<string, StepBegun>({ maxEntries: maxWaits });

  constructor(timeline: Timeline, clock: Clock) {
    this.#timeline = timeline;
    this.#clock = clock;
  }

  /** A step begins, or is waited for. Another attempt at the same step changes nothing. */
  begin(volume: WaitingVolume, step: VolumeStep): void {
    if (volume.driver === undefined || this.#waits.get(mountKey(volume))?.step === step) return;
    const wait = { step, sinceMs: this.#clock.now() };
    this.#waits.set(mountKey(volume), wait);
    this.#record(volume, wait, {});
  }

  isKnown(volume: WaitingVolume): boolean {
    return this.#waits.has(mountKey(volume));
  }

  failed(volume: WaitingVolume, error: unknown, nextTryMs: number): void {
    const wait = this.#waits.get(mountKey(volume));
    if (wait !== undefined) this.#record(volume, wait, { error, nextTryMs });
  }

  /** Nothing is waited for any more; what ended the wait is told elsewhere. */
  end(volume: WaitingVolume): void {
    this.#waits.delete(mountKey(volume));
  }

  #record(
    volume: WaitingVolume,
    { step, sinceMs }: StepBegun,
    { error, nextTryMs }: { readonly error?: unknown; readonly nextTryMs?: number },
  ): void {
    const { driver = '', innerName, uniqueName } = volume;
    this.#timeline.record({
      kind: error === undefined ? 'observation' : 'problem',
      what: 'volume.wait',
      message: `volume ${innerName} waits for step ${step} of driver ${driver}`,
      level: 'debug',
      pod: ownerOf(volume),
      ...(error === undefined ? {} : { error }),
      data: {
        volume: uniqueName,
        name: innerName,
        driver,
        step,
        sinceMs,
        ...(nextTryMs === undefined ? {} : { nextTryMs }),
      },
    });
  }
}

function ownerOf(volume: WaitingVolume): PodRef {
  if ('pod' in volume) return podRef(volume.pod);
  return volume.owner ?? { uid: volume.podUid, name: '', namespace: '' };
}
