/** Pods that wait for a device plugin that has not registered yet: for how long, and who wakes them. */
import type { Clock, Timer } from '../../async/index.js';
import type { Pod } from '../../kube/index.js';
import type { DeviceRecorder } from './device-recorder.js';

export interface PluginWaitsOptions {
  readonly clock: Clock;
  readonly recorder: DeviceRecorder;
  /** 0: nobody waits. */
  readonly waitMs: number;
}

interface PodWait {
  readonly endMs: number;
  /** Undefined between two waits. */
  resource: string | undefined;
}

interface WaitingPod {
  readonly resource: string;
  readonly wake: () => void;
  readonly timer: Timer;
}

export class PluginWaits {
  readonly #options: PluginWaitsOptions;
  /** By pod; a pod that waits again, for whatever plugin, goes on with the time that it has left. */
  readonly #pods = new Map<string, PodWait>();
  readonly #waiting = new Set<WaitingPod>();

  constructor(options: PluginWaitsOptions) {
    this.#options = options;
  }

  /** Resolves when the resource has changed, or the time is over; undefined if the pod is not to wait any longer. */
  wait(pod: Pod, container: string, resource: string): Promise<void> | undefined {
    const { clock, recorder, waitMs } = this.#options;
    if (waitMs <= 0) return undefined;
    const nowMs = clock.monotonic();
    const known = this.#pods.get(pod.metadata.uid);
    const own = known ?? { endMs: nowMs + waitMs, resource };
    if (nowMs >= own.endMs) return undefined;
    if (known?.resource !== resource) recorder.waits(pod, container, resource, own.endMs - nowMs);
    own.resource = resource;
    this.#pods.set(pod.metadata.uid, own);
    return new Promise((resolve) => {
      const wake = (): void => {
        waiting.timer.cancel();
        this.#waiting.delete(waiting);
        resolve();
      };
      const waiting = { resource, wake, timer: clock.setTimer(own.endMs - nowMs, wake) };
      this.#waiting.add(waiting);
    });
  }

  /** The pod has what it waited for, or is refused. */
  ended(pod: Pod, resource: string, because: string): void {
    const wait = this.#pods.get(pod.metadata.uid);
    if (wait?.resource !== resource) return;
    wait.resource = undefined;
    this.#options.recorder.waitEnded(pod, resource, because);
  }

  changed(resource: string): void {
    for (const waiting of [...this.#waiting]) if (waiting.resource === resource) waiting.wake();
  }

  keepOnly(isKept: (podUid: string) => boolean): void {
    for (const podUid of this.#pods.keys()) if (!isKept(podUid)) this.#pods.delete(podUid);
  }

  stop(): void {
    for (const { timer } of this.#waiting) timer.cancel();
    this.#waiting.clear();
  }
}
