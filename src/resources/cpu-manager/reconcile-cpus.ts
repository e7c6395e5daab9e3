/** Binds running containers to the CPUs that they may use now: exclusive CPUs leave the shared pool of all others. */
import { type Clock, errorText, isCancelled, WakeableSleep } from '../../async/index.js';
import type { CpuSet, Pod } from '../../kube/index.js';
import { podRef, type Timeline } from '../../timeline/index.js';

export interface CpuReconcilerOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly periodMs: number;
  readonly removeStale: () => void;
  /** Empty: the container is left alone. */
  readonly cpusOf: (podUid: string, container: string) => CpuSet;
  readonly activePods: () => readonly Pod[];
  /** The running container of each name; none while nobody knows the pod's containers. */
  readonly runningContainers: (podUid: string) => ReadonlyMap<string, string>;
  /** Changes the CPUs of a container, and nothing else of it. */
  readonly update: (containerId: string, cpus: string, signal: AbortSignal) => Promise<void>;
}

export class CpuReconciler {
  readonly #options: CpuReconcilerOptions;
  readonly #sleep = new WakeableSleep();
  /** What each container was last bound to, by its id. */
  #bound = new Map<string, string>();
  #isDue = false;

  constructor(options: CpuReconcilerOptions) {
    this.#options = options;
  }

  /** The container was created bound to these CPUs. */
  created(containerId: string, cpus: string): void {
    this.#bound.set(containerId, cpus);
  }

  stopped(containerId: string): void {
    this.#bound.delete(containerId);
  }

  /** The shared pool has changed: the next round begins soon. */
  wake(): void {
    this.#isDue = true;
    this.#sleep.wake();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, periodMs, timeline } = this.#options;
    for (;;) {
      // Changes of one moment share a round.
      await this.#sleep.sleep(clock, this.#isDue ? 0 : periodMs, signal);
      this.#isDue = false;
      try {
        await this.round(signal);
      } catch (error) {
        if (isCancelled(error)) throw error;
        timeline.record({
          kind: 'problem',
          what: 'cpu.reconcile',
          message: 'CPUs were not reconciled',
          error,
        });
      }
    }
  }

  /** A container whose update fails is tried again in the next round. */
  async round(signal: AbortSignal): Promise<void> {
    const { removeStale, activePods, runningContainers, cpusOf } = this.#options;
    removeStale();
    const seen = new Set<string>();
    for (const pod of activePods()) {
      const { uid } = pod.metadata;
      const running = runningContainers(uid);
      for (const { name } of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
        const id = running.get(name);
        if (id === undefined) continue;
        seen.add(id);
        // Asked for each container: another may have been given CPUs while the last was updated.
        const cpus = String(cpusOf(uid, name));
        if (cpus === '' || this.#bound.get(id) === cpus) continue;
        if (await this.#update(pod, name, id, cpus, signal)) this.#bound.set(id, cpus);
      }
    }
    this.#forget(seen);
  }

  async #update(
    pod: Pod,
    container: string,
    containerId: string,
    cpus: string,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { update, timeline } = this.#options;
    const entry = { pod: podRef(pod), container, data: { containerId, cpus } };
    try {
      await update(containerId, cpus, signal);
    } catch (error) {
      if (isCancelled(error)) throw error;
      timeline.record({
        kind: 'problem',
        what: 'cpu.update',
        message: `could not bind ${container} to CPUs ${cpus}: ${errorText(error)}`,
        level: 'warn',
        ...entry,
        error,
      });
      return false;
    }
    timeline.record({
      kind: 'effect',
      what: 'cpu.update',
      message: `bound ${container} to CPUs ${cpus}`,
      because: 'it was not known to run on exactly these',
      ...entry,
    });
    return true;
  }

  /** Containers created since the round began are not seen yet, so only the oldest of many are forgotten. */
  #forget(seen: ReadonlySet<string>): void {
    for (const id of this.#bound.keys()) {
      if (this.#bound.size <= 2 * seen.size + sparedContainers) return;
      if (!seen.has(id)) this.#bound.delete(id);
    }
  }
}

/** Ids of containers that are gone are small; this many are kept beside those that run. */
const sparedContainers = 200;
