/** Measures pods' volumes in the background, as it may take long and no one should wait for it. */
import {
  type Clock,
  errorText,
  Gate,
  isCancelled,
  jitter,
  sleep,
  TimedOut,
  throwIfCancelled,
  withTimeout,
} from '../../async/index.js';
import { formatTimestamp } from '../../kube/index.js';
import type { Timeline } from '../../timeline/index.js';
import { createVolumeMeasureMetrics } from '../metrics.js';
import type { DirectoryUsage, Machine } from './machine.js';
import { capacityOf, type PodVolumeUsage } from './pod-summary.js';
import type { VolumeStats } from './summary-types.js';
import type { VolumeMeasure } from './volume-measures.js';

export interface PodToMeasure {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly volumes: readonly VolumeMeasure[];
}

export interface VolumeUsagesOptions {
  readonly clock: Clock;
  readonly machine: Pick<Machine, 'fileSystem' | 'tree'>;
  readonly timeline: Pick<Timeline, 'record'>;
  /** From the end of one pass over all pods to the next; the actual delay is up to twice as long. */
  readonly periodMs: number;
  readonly pods: () => readonly PodToMeasure[];
  /** Asks the driver of a volume; undefined if it does not tell. */
  readonly askDriver?: (
    podUid: string,
    volumeName: string,
    signal: AbortSignal,
  ) => Promise<Omit<VolumeStats, 'time' | 'name'> | undefined>;
  readonly random?: () => number;
  /** Default: metrics that nobody reads. */
  readonly metrics?: ReturnType<typeof createVolumeMeasureMetrics>;
}

const sources: Readonly<Record<VolumeMeasure['by'], string>> = {
  tree: 'du',
  fileSystem: 'statfs',
  driver: 'csi',
};

/** A driver that hangs must not hold up the others; more at once would be a load for the node. */
const driversAskedAtOnce = 16;

/** A measurement that takes longer is abandoned, as with a hung server; its last figures stay. */
const patienceMs: Readonly<Record<VolumeMeasure['by'], number>> = {
  tree: 120_000,
  fileSystem: 10_000,
  driver: 10_000,
};
const spread = 1;

type DriverAnswers = ReadonlyMap<VolumeMeasure, Promise<VolumeStats | undefined>>;

export class VolumeUsages {
  readonly #options: VolumeUsagesOptions;
  #byPod: ReadonlyMap<string, PodVolumeUsage> = new Map();
  /** While one is stuck, no other of its kind begins, so that hung servers hold one thread at most. */
  #stuck: { readonly directory: string; readonly by: VolumeMeasure['by'] } | undefined;
  /** The directories of volumes whose drivers still owe an answer; only these are not asked for again. */
  readonly #owed = new Set<string>();

  readonly #metrics: ReturnType<typeof createVolumeMeasureMetrics>;

  constructor(options: VolumeUsagesOptions) {
    this.#options = options;
    this.#metrics = options.metrics ?? createVolumeMeasureMetrics();
  }

  of(podUid: string): PodVolumeUsage | undefined {
    return this.#byPod.get(podUid);
  }

  /** The usage of each claim, however many pods share it. */
  claims(): readonly VolumeStats[] {
    const found = new Map<string, VolumeStats>();
    for (const { volumes } of this.#byPod.values()) {
      for (const volume of volumes) {
        const { pvcRef } = volume;
        if (pvcRef !== undefined) found.set(`${pvcRef.namespace}/${pvcRef.name}`, volume);
      }
    }
    return [...found.values()];
  }

  /** Rejects with `Cancelled` at the end. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, periodMs, random } = this.#options;
    for (;;) {
      await sleep(clock, jitter(periodMs, random, spread), signal);
      await this.measureAll(signal);
    }
  }

  /** Pod by pod, to limit the load on the machine; drivers are asked meanwhile. */
  async measureAll(signal?: AbortSignal): Promise<void> {
    const measured = new Map<string, PodVolumeUsage>();
    const pods = this.#options.pods();
    const answers = this.#askDrivers(pods, signal);
    try {
      for (const pod of pods) {
        throwIfCancelled(signal);
        const usage = await this.#measurePod(pod, answers, signal);
        if (usage !== undefined) measured.set(pod.uid, usage);
      }
    } finally {
      await Promise.allSettled(answers.values());
    }
    this.#byPod = measured;
  }

  #askDrivers(pods: readonly PodToMeasure[], signal: AbortSignal | undefined): DriverAnswers {
    const gate = new Gate(driversAskedAtOnce);
    const answers = new Map<VolumeMeasure, Promise<VolumeStats | undefined>>();
    for (const { uid, volumes } of pods) {
      for (const volume of volumes) {
        if (volume.by !== 'driver' || this.#owed.has(volume.directory)) continue;
        const answer = gate.run(() => this.#inTime(uid, volume, signal));
        // Its reader handles it; until then a failure is not an unhandled one.
        answer.catch(() => {});
        answers.set(volume, answer);
      }
    }
    return answers;
  }

  async #measurePod(
    { uid, name, namespace, volumes }: PodToMeasure,
    answers: DriverAnswers,
    signal: AbortSignal | undefined,
  ): Promise<PodVolumeUsage | undefined> {
    const known = this.#byPod.get(uid);
    const stats: VolumeStats[] = [];
    let ephemeral: DirectoryUsage = { usedBytes: 0, inodesUsed: 0 };
    for (const volume of volumes) {
      let found = known?.volumes.find((one) => one.name === volume.name);
      try {
        const reading = volume.by === 'driver' ? answers.get(volume) : this.#inTime(uid, volume, signal);
        found = (await reading) ?? found;
      } catch (error) {
        if (isCancelled(error)) throw error;
        this.#options.timeline.record({
          kind: 'notice',
          what: 'stats.volume',
          message: `volume ${volume.name} could not be measured: ${errorText(error)}`,
          level: 'debug',
          pod: { uid, name, namespace },
        });
      }
      if (found === undefined) continue;
      stats.push(found);
      if (!volume.isEphemeral) continue;
      ephemeral = {
        usedBytes: ephemeral.usedBytes + (found.usedBytes ?? 0),
        inodesUsed: ephemeral.inodesUsed + (found.inodesUsed ?? 0),
      };
    }
    return stats.length === 0 ? undefined : { volumes: stats, ephemeral };
  }

  /** Undefined if it took too long, or if an earlier one is still stuck. */
  async #inTime(
    podUid: string,
    volume: VolumeMeasure,
    signal: AbortSignal | undefined,
  ): Promise<VolumeStats | undefined> {
    if (this.#stuck?.by === volume.by) return undefined;
    let reading: Promise<VolumeStats | undefined> | undefined;
    const startedMs = this.#options.clock.monotonic();
    try {
      return await withTimeout(this.#options.clock, patienceMs[volume.by], signal, (inTime) => {
        reading = this.#read(podUid, volume, inTime);
        return reading;
      });
    } catch (error) {
      if (!(error instanceof TimedOut) || reading === undefined) throw error;
      this.#leave(volume, reading);
      return undefined;
    } finally {
      const seconds = (this.#options.clock.monotonic() - startedMs) / 1000;
      this.#metrics.duration.observe(seconds, { metric_source: volume.driver ?? sources[volume.by] });
    }
  }

  #leave({ directory, by }: VolumeMeasure, reading: Promise<unknown>): void {
    const stuck = { directory, by };
    if (by === 'driver') this.#owed.add(directory);
    else this.#stuck = stuck;
    this.#options.timeline.record({
      kind: 'notice',
      what: 'stats.volume',
      message: `${directory} takes longer than ${patienceMs[by] / 1000} s to measure; its last figures stay`,
      level: 'warn',
    });
    const over = (): void => {
      this.#owed.delete(directory);
      if (this.#stuck === stuck) this.#stuck = undefined;
    };
    reading.then(over, over);
  }

  async #read(
    podUid: string,
    { name, directory, by, pvcRef }: VolumeMeasure,
    signal: AbortSignal,
  ): Promise<VolumeStats | undefined> {
    const { machine, clock, askDriver } = this.#options;
    const named = { name, ...(pvcRef === undefined ? {} : { pvcRef: { ...pvcRef } }) };
    if (by === 'driver') {
      const figures = await askDriver?.(podUid, name, signal);
      return figures && { time: formatTimestamp(clock.now()), ...figures, ...named };
    }
    const { time, ...fs } = await machine.fileSystem(directory);
    if (by === 'fileSystem') return { time, ...fs, ...named };
    const used = await machine.tree(directory, signal);
    return { time, ...capacityOf({ time, ...fs }), ...used, ...named };
  }
}
