/** The pods of a run as a source for the kubelet: which of them should be there now, and their way out. */
import { Channel } from '../../async/index.js';
import { isTerminalPhase, type Pod, type PodStatus, podRestartPolicy } from '../../kube/index.js';
import type { PodSource, SourceContext } from '../../pods/index.js';
import type { JobParallelism } from './workload-pods.js';

export interface RunPod {
  readonly pod: Pod;
  readonly turn?: JobParallelism;
}

/** Waiting for its turn; there; being stopped; nothing of it is left. */
export type RunPodState = 'waiting' | 'there' | 'stopping' | 'gone';

interface TrackedRunPod extends RunPod {
  pod: Pod;
  state: RunPodState;
  status: PodStatus | undefined;
  /** Its worker has nothing more to do. */
  finished: boolean;
  /** It failed before anybody asked for its end. */
  failed: boolean;
}

export interface ShownPod {
  /** With its last known status. */
  readonly pod: Pod;
  readonly state: RunPodState;
}

export class RunPods {
  readonly #pods = new Map<string, TrackedRunPod>();
  readonly #changed = new Channel<void>(1);
  readonly #waiters = new Set<() => void>();
  #stopping = false;

  constructor(pods: readonly RunPod[]) {
    for (const { pod, turn } of pods) {
      this.#pods.set(pod.metadata.uid, {
        pod,
        ...(turn === undefined ? {} : { turn }),
        state: 'waiting',
        status: undefined,
        finished: false,
        failed: false,
      });
    }
    this.#takeTurns();
  }

  /** The source to give to the kubelet. */
  source({ deliver }: Pick<SourceContext, 'deliver'>): PodSource {
    return {
      run: async (signal) => {
        for (;;) {
          await deliver({ source: 'file', pods: this.#wanted() }, signal);
          if ((await this.#changed.receive(signal)).done) return;
        }
      },
    };
  }

  /** Every pod of the run, in the order of the manifests. */
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
    if (status.phase === 'Failed' && tracked.state === 'there') tracked.failed = true;
    if (isTerminalPhase(status.phase)) this.#takeTurns();
    this.#tell();
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
    this.#tell();
  }

  /** Asks these pods, or all, to end within their grace period or the given one. */
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
    this.#tell();
  }

  /** Nothing is left of any pod. */
  killed(): void {
    for (const tracked of this.#pods.values()) tracked.state = 'gone';
    this.#tell();
  }

  /** Resolves when nothing is left of these pods, or of all. */
  async gone(signal: AbortSignal, uids?: ReadonlySet<string>): Promise<void> {
    await this.#until(signal, () => this.#chosen(uids).every(({ state }) => state === 'gone'));
  }

  /** Resolves when every pod is of the kind that ends, and has ended. */
  async ended(signal: AbortSignal): Promise<void> {
    const all = [...this.#pods.values()];
    if (!all.every(({ pod }) => shouldEnd(pod))) return new Promise(() => {});
    await this.#until(signal, () =>
      all.every(
        ({ state, status, finished }) => state === 'gone' || (finished && isTerminalPhase(status?.phase)),
      ),
    );
  }

  /** Pods that should have ended well and did not, with their last status. */
  failures(): Pod[] {
    return [...this.#pods.values()]
      .filter(({ pod, failed }) => failed && shouldEnd(pod))
      .map(({ pod, status }) => (status === undefined ? pod : { ...pod, status }));
  }

  /** The longest that a pod that is being stopped may take. */
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

  #wanted(): Pod[] {
    return [...this.#pods.values()]
      .filter(({ state }) => state === 'there' || state === 'stopping')
      .map(({ pod }) => pod);
  }

  /** Lets as many pods in as their turns allow. */
  #takeTurns(): void {
    if (this.#stopping) return;
    const busy = new Map<string, number>();
    for (const { turn, state, status } of this.#pods.values()) {
      if (turn === undefined || state !== 'there' || isTerminalPhase(status?.phase)) continue;
      busy.set(turn.of, (busy.get(turn.of) ?? 0) + 1);
    }
    let changed = false;
    for (const tracked of this.#pods.values()) {
      const { turn } = tracked;
      if (tracked.state !== 'waiting') continue;
      const used = turn === undefined ? 0 : (busy.get(turn.of) ?? 0);
      if (turn !== undefined && used >= turn.atOnce) continue;
      if (turn !== undefined) busy.set(turn.of, used + 1);
      tracked.state = 'there';
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

  #tell(): void {
    for (const check of [...this.#waiters]) check();
  }
}

/** Whether a pod is expected to come to an end by itself. */
export function shouldEnd(pod: Pod): boolean {
  return podRestartPolicy(pod) !== 'Always';
}
