/** The pods of a run as a pod source for the kubelet: which pods should run now, and how they stop. */
import { Channel } from '../../async/index.js';
import { isTerminalPhase, type Pod, type PodStatus, podRestartPolicy } from '../../kube/index.js';
import type { PodSource, SourceContext } from '../../pods/index.js';
import type { JobParallelism } from './workload-pods.js';

export interface RunPod {
  readonly pod: Pod;
  readonly job?: JobParallelism;
}

/** Waiting for other pods of its Job; given to the kubelet; being stopped; removed. */
export type RunPodState = 'waiting' | 'active' | 'stopping' | 'gone';

interface TrackedRunPod extends RunPod {
  pod: Pod;
  state: RunPodState;
  status: PodStatus | undefined;
  /** The pod's worker is done. */
  finished: boolean;
  /** The pod failed before it was stopped. */
  failed: boolean;
}

export interface ShownPod {
  /** The pod with its last known status. */
  readonly pod: Pod;
  readonly state: RunPodState;
}

export class RunPods {
  readonly #pods = new Map<string, TrackedRunPod>();
  readonly #changed = new Channel<void>(1);
  readonly #waiters = new Set<() => void>();
  #stopping = false;

  constructor(pods: readonly RunPod[]) {
    for (const { pod, job } of pods) {
      this.#pods.set(pod.metadata.uid, {
        pod,
        ...(job === undefined ? {} : { job }),
        state: 'waiting',
        status: undefined,
        finished: false,
        failed: false,
      });
    }
    this.#activateWaiting();
  }

  /** Returns the source for the kubelet. */
  source({ deliver }: Pick<SourceContext, 'deliver'>): PodSource {
    return {
      run: async (signal) => {
        for (;;) {
          await deliver({ source: 'file', pods: this.#desired() }, signal);
          if ((await this.#changed.receive(signal)).done) return;
        }
      },
    };
  }

  /** All pods of the run, in the order of the manifests. */
  list(): ShownPod[] {
    return [...this.#pods.values()].map(({ pod, status, state }) => ({
      pod: status === undefined ? pod : { ...pod, status },
      state,
    }));
  }

  observe(uid: string, status: PodStatus): void {
    const tracked = this.#pods.get(uid);
    if (tracked === undefined || tracked.state === 'gone') return;
    tracked.status = status;
    if (status.phase === 'Failed' && tracked.state === 'active') tracked.failed = true;
    if (isTerminalPhase(status.phase)) this.#activateWaiting();
    this.#notify();
  }

  /** The pod's containers are gone and its worker is done. */
  finished(uid: string): void {
    const tracked = this.#pods.get(uid);
    if (tracked === undefined) return;
    tracked.finished = true;
    if (tracked.state === 'stopping') {
      tracked.state = 'gone';
      this.#changed.trySend();
    }
    this.#notify();
  }

  /** Stops these pods, or all, within their own or the given grace period. */
  stop(nowMs: number, uids?: ReadonlySet<string>, graceSeconds?: number): void {
    if (uids === undefined) this.#stopping = true;
    for (const [uid, tracked] of this.#pods) {
      if (uids !== undefined && !uids.has(uid)) continue;
      if (tracked.state === 'waiting' || tracked.finished) tracked.state = 'gone';
      if (tracked.state === 'gone') continue;
      const { metadata, spec } = tracked.pod;
      const grace = graceSeconds ?? metadata.deletionGracePeriodSeconds ?? spec.terminationGracePeriodSeconds;
      tracked.state = 'stopping';
      tracked.pod = {
        ...tracked.pod,
        metadata: {
          ...metadata,
          deletionTimestamp: metadata.deletionTimestamp ?? new Date(nowMs).toISOString(),
          deletionGracePeriodSeconds: grace ?? 30,
        },
      };
    }
    this.#changed.trySend();
    this.#notify();
  }

  /** All pods were killed and removed. */
  killed(): void {
    for (const tracked of this.#pods.values()) tracked.state = 'gone';
    this.#notify();
  }

  /** Resolves when these pods, or all, are gone. */
  async gone(signal: AbortSignal, uids?: ReadonlySet<string>): Promise<void> {
    await this.#until(signal, () => this.#chosen(uids).every(({ state }) => state === 'gone'));
  }

  /** Resolves when all pods have ended. Never resolves when a pod has restartPolicy Always. */
  async ended(signal: AbortSignal): Promise<void> {
    const all = [...this.#pods.values()];
    if (!all.every(({ pod }) => shouldEnd(pod))) return new Promise(() => {});
    await this.#until(signal, () =>
      all.every(
        ({ state, status, finished }) => state === 'gone' || (finished && isTerminalPhase(status?.phase)),
      ),
    );
  }

  /** Pods that should have succeeded and failed, with their last status. */
  failures(): Pod[] {
    return [...this.#pods.values()]
      .filter(({ pod, failed }) => failed && shouldEnd(pod))
      .map(({ pod, status }) => (status === undefined ? pod : { ...pod, status }));
  }

  /** The longest grace period of the pods that are stopping. */
  longestGraceSeconds(): number {
    const graces = [...this.#pods.values()]
      .filter(({ state }) => state === 'stopping')
      .map(({ pod }) => pod.metadata.deletionGracePeriodSeconds ?? 0);
    return Math.max(0, ...graces);
  }

  #chosen(uids: ReadonlySet<string> | undefined): TrackedRunPod[] {
    return [...this.#pods]
      .filter(([uid]) => uids === undefined || uids.has(uid))
      .map(([, tracked]) => tracked);
  }

  #desired(): Pod[] {
    return [...this.#pods.values()]
      .filter(({ state }) => state === 'active' || state === 'stopping')
      .map(({ pod }) => pod);
  }

  /** Activates waiting pods, as many as the parallelism of their Jobs allows. */
  #activateWaiting(): void {
    if (this.#stopping) return;
    const busy = new Map<string, number>();
    for (const { job, state, status } of this.#pods.values()) {
      if (job === undefined || state !== 'active' || isTerminalPhase(status?.phase)) continue;
      busy.set(job.key, (busy.get(job.key) ?? 0) + 1);
    }
    let changed = false;
    for (const tracked of this.#pods.values()) {
      const { job } = tracked;
      if (tracked.state !== 'waiting') continue;
      const used = job === undefined ? 0 : (busy.get(job.key) ?? 0);
      if (job !== undefined && used >= job.parallelism) continue;
      if (job !== undefined) busy.set(job.key, used + 1);
      tracked.state = 'active';
      changed = true;
    }
    if (changed) this.#changed.trySend();
  }

  async #until(signal: AbortSignal, isDone: () => boolean): Promise<void> {
    if (isDone()) return;
    await new Promise<void>((resolve) => {
      const check = (): void => {
        if (!isDone() && !signal.aborted) return;
        this.#waiters.delete(check);
        signal.removeEventListener('abort', check);
        resolve();
      };
      this.#waiters.add(check);
      signal.addEventListener('abort', check);
    });
    signal.throwIfAborted();
  }

  #notify(): void {
    for (const check of [...this.#waiters]) check();
  }
}

/** True when a pod is expected to end by itself. */
export function shouldEnd(pod: Pod): boolean {
  return podRestartPolicy(pod) !== 'Always';
}
