/** The pods whose claims are being given back: each once at a time, whoever asks for it. */
import { isCancelled } from '../../async/index.js';
import type { Pod } from '../../kube/index.js';
import { podRef } from '../../timeline/index.js';
import type { ClaimPorts } from './prepare-pod.js';
import { unpreparePod } from './unprepare-pod.js';

export class Unpreparations {
  readonly #ports: ClaimPorts;
  readonly #stopping: AbortSignal;
  /** By the UID of the pod. */
  readonly #running = new Map<string, Promise<void>>();

  constructor(ports: ClaimPorts, stopping: AbortSignal) {
    this.#ports = ports;
    this.#stopping = stopping;
  }

  /** A pod is unprepared by its worker and by the reconciliation; both wait for the same work. */
  once(uid: string, pod: Pod | undefined): Promise<void> {
    const running = this.#running.get(uid);
    if (running !== undefined) return running;
    const work = unpreparePod(this.#ports, uid, pod, this.#stopping).finally(() => this.#running.delete(uid));
    this.#running.set(uid, work);
    // Whoever waits is told; a worker that is stopped does not wait for the end.
    work.catch(() => undefined);
    return work;
  }

  failed(uid: string, pod: Pod | undefined, error: unknown): void {
    if (isCancelled(error)) return;
    const { cache, timeline } = this.#ports;
    const claims = cache.ofPod(uid).map(({ namespace, name }) => `${namespace}/${name}`);
    timeline.record({
      kind: 'problem',
      what: 'dra.unprepare',
      level: 'warn',
      message: `Claims of pod ${uid} could not be unprepared; it is tried again`,
      data: { driver: '', claims: claims.join(' ') },
      error,
      ...(pod === undefined ? {} : { pod: podRef(pod) }),
    });
  }

  async settled(): Promise<void> {
    await Promise.allSettled(this.#running.values());
  }
}
