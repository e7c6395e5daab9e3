/** Asks drivers for the health of their volumes and of their storage, and tells the cluster what changed. */
import { type Clock, errorText, Gate, isCancelled, sleep, withTimeout } from '../../async/index.js';
import type { Pod, VolumeHealthCondition } from '../../kube/index.js';
import { type PodRef, podRef, type Timeline } from '../../timeline/index.js';
import type { ObservedVolume } from '../contracts.js';
import { type CsiClientOptions, csiStep } from './client.js';
import { type StorageHealthCondition, storageConditions } from './health-decision.js';

/** Drivers that are asked at the same time. */
const questionsAtOnce = 16;
/** A driver that takes longer is asked again in the next round. */
const answerMs = 10_000;
const defaultPeriodMs = 60_000;

/** Where the cluster learns of it. Both write only what is news. */
export interface HealthNotice {
  volumes(
    pod: Pod,
    seen: ReadonlyMap<string, readonly VolumeHealthCondition[]>,
    signal: AbortSignal,
  ): Promise<void>;
  storage(driver: string, conditions: readonly StorageHealthCondition[], signal: AbortSignal): Promise<void>;
}

export interface HealthUpdatesOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly client: CsiClientOptions;
  readonly volumes: () => readonly ObservedVolume[];
  readonly notice: HealthNotice;
  /** Zero or less is one minute. */
  readonly periodMs: number;
}

export class HealthUpdates {
  readonly #options: HealthUpdatesOptions;
  readonly #gate = new Gate(questionsAtOnce);
  /** What the gauge shows, by driver. */
  readonly #shown = new Map<string, readonly StorageHealthCondition[]>();
  /** Subjects whose last question failed, which was told. */
  readonly #failing = new Set<string>();

  constructor(options: HealthUpdatesOptions) {
    this.#options = options;
  }

  /** Until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, client, periodMs } = this.#options;
    const stopListening = client.drivers.onGone((driver) => this.#show(driver, []));
    try {
      for (;;) {
        await sleep(clock, periodMs > 0 ? periodMs : defaultPeriodMs, signal);
        await this.round(signal);
      }
    } finally {
      stopListening();
    }
  }

  async round(signal: AbortSignal): Promise<void> {
    const byPod = new Map<string, ObservedVolume[]>();
    for (const volume of this.#options.volumes()) {
      const { uid } = volume.pod.metadata;
      byPod.set(uid, [...(byPod.get(uid) ?? []), volume]);
    }
    const drivers = this.#options.client.drivers.names();
    const subjects = new Set([...byPod.keys(), ...drivers]);
    for (const subject of this.#failing) if (!subjects.has(subject)) this.#failing.delete(subject);
    await Promise.all([
      ...[...byPod].map(([uid, volumes]) => {
        const [pod] = volumes.map((volume) => podRef(volume.pod));
        const work = (): Promise<void> => this.#askVolumes(volumes, signal);
        return this.#attempt({ subject: uid, what: 'volumes of the pod', pod, work }, signal);
      }),
      ...drivers.map((driver) => {
        const work = (): Promise<void> => this.#askStorage(driver, signal);
        return this.#attempt({ subject: driver, what: `the storage of CSI driver ${driver}`, work }, signal);
      }),
    ]);
  }

  async #askVolumes(volumes: readonly ObservedVolume[], signal: AbortSignal): Promise<void> {
    const { clock, notice } = this.#options;
    const seen = new Map<string, readonly VolumeHealthCondition[]>();
    const failures: unknown[] = [];
    await Promise.all(
      volumes.map(async ({ names, ask }) => {
        try {
          const conditions = await this.#gate.run(() => withTimeout(clock, answerMs, signal, ask), {
            signal,
          });
          if (conditions !== undefined) for (const name of names) seen.set(name, conditions);
        } catch (error) {
          failures.push(error);
        }
      }),
    );
    const [pod] = volumes.map((volume) => volume.pod);
    if (seen.size > 0 && pod !== undefined) await notice.volumes(pod, seen, signal);
    const [failure] = failures;
    if (failure !== undefined) throw failure;
  }

  async #askStorage(driver: string, signal: AbortSignal): Promise<void> {
    const { clock, client, notice } = this.#options;
    const registered = client.drivers.get(driver);
    const conditions = await this.#gate.run(
      () =>
        withTimeout(clock, answerMs, signal, async (limit) => {
          const step = csiStep(client, driver, limit);
          if (!(await step.capabilities()).has('GET_STORAGE_HEALTH')) return undefined;
          return storageConditions(await step.storageHealth());
        }),
      { signal },
    );
    // A driver that has gone meanwhile would be shown for ever; one that came back is asked in the next round.
    if (conditions === undefined || client.drivers.get(driver) !== registered) return;
    this.#show(driver, conditions);
    await notice.storage(driver, conditions, signal);
  }

  #show(driver: string, conditions: readonly StorageHealthCondition[]): void {
    const gauge = this.#options.client.metrics.storageHealth;
    const labels = ({ status, reason }: StorageHealthCondition) => ({ driver_name: driver, status, reason });
    for (const condition of this.#shown.get(driver) ?? []) gauge.remove(labels(condition));
    for (const condition of conditions) gauge.set(1, labels(condition));
    if (conditions.length === 0) this.#shown.delete(driver);
    else this.#shown.set(driver, conditions);
  }

  /** What fails changes nothing, and is told once. */
  async #attempt({ subject, what, pod, work }: HealthQuestion, signal: AbortSignal): Promise<void> {
    try {
      await work();
      this.#failing.delete(subject);
    } catch (error) {
      if (isCancelled(error) || signal.aborted) return;
      if (this.#failing.has(subject)) return;
      this.#failing.add(subject);
      const message = `the health of ${what} is not known: ${errorText(error)}`;
      this.#options.timeline.record({
        kind: 'problem',
        what: 'csi.health',
        level: 'warn',
        message,
        ...(pod === undefined ? {} : { pod }),
      });
    }
  }
}

interface HealthQuestion {
  /** The UID of a pod, or the name of a driver. */
  readonly subject: string;
  readonly what: string;
  readonly pod?: PodRef | undefined;
  readonly work: () => Promise<void>;
}
