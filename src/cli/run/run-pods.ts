/** The pods of a run as a pod source for the kubelet: which pods should run now, and how they stop. */
import { BoundedMap, Channel } from '../../async/index.js';
import {
  isTerminalPhase,
  type Pod,
  type PodStatus,
  podFullName,
  podRestartPolicy,
} from '../../kube/index.js';
import type { PodSource, SourceContext } from '../../pods/index.js';
import { podChange } from './follow/pod-change.js';
import { type KeptPod, type RunPod, stoppingPod, successor, updatedPod } from './run-pod.js';
import { StateWaiters } from './state-waiters.js';
import { startablePods, type TrackedRunPod } from './tracked-run-pod.js';

export type { KeptPod, RunPod } from './run-pod.js';
export type { RunPodState } from './tracked-run-pod.js';

export interface ShownPod {
  /** The pod with its last known status. */
  readonly pod: Pod;
  readonly state: TrackedRunPod['state'];
  /** Why it waits or ends, where the manifests decided that. */
  readonly because?: string;
}

/** What changed manifests meant for one pod. */
export interface RunPodChange {
  readonly kind: 'started' | 'updated' | 'replaced' | 'ended';
  /** As the manifests have it now; an ended one as it was. */
  readonly pod: Pod;
  /** The pod that must end first. */
  readonly earlier?: Pod;
  readonly because: string;
}

/** Places whose last pod is remembered. */
const rememberedSlots = 10_000;

export class RunPods {
  /** By UID, in the order of the manifests; a replaced pod stands before its successor. */
  #pods = new Map<string, TrackedRunPod>();
  readonly #lastUids = new BoundedMap<string, string>({ maxEntries: rememberedSlots });
  readonly #changed = new Channel<void>(1);
  readonly #waiters = new StateWaiters();
  #stopping = false;

  /** `kept`: what an earlier process of this run had told its kubelet. */
  constructor(pods: readonly RunPod[], nowMs = 0, kept: readonly KeptPod[] = []) {
    for (const { isWanted, ...one } of kept) {
      const isEnding = one.pod.metadata.deletionTimestamp !== undefined;
      this.#track(one, isEnding ? 'stopping' : 'active', isWanted && !isEnding);
    }
    this.apply(pods, nowMs);
  }

  /** Makes these the pods that should run. Returns what that changed. */
  apply(wanted: readonly RunPod[], nowMs: number): RunPodChange[] {
    if (this.#stopping) return [];
    const changes: RunPodChange[] = [];
    const heads = new Map(
      [...this.#pods.values()].filter((one) => one.isWanted).map((one) => [one.slot, one]),
    );
    const order: string[] = [];
    for (const next of wanted) {
      order.push(next.slot);
      const head = heads.get(next.slot);
      heads.delete(next.slot);
      const change = this.#applyOne(head, next, nowMs);
      if (change !== undefined) changes.push(change);
    }
    for (const { slot, pod } of heads.values()) {
      this.#retire(slot, 'it is not in the manifests any more', nowMs);
      changes.push({ kind: 'ended', pod, because: 'it is not in the manifests any more' });
    }
    const ranks = new Map(order.map((slot, rank) => [slot, rank]));
    const rank = ({ slot }: RunPod): number => ranks.get(slot) ?? order.length;
    // The sort keeps the order of pods of one slot.
    this.#pods = new Map([...this.#pods].sort(([, a], [, b]) => rank(a) - rank(b)));
    this.#activateWaiting();
    this.#changed.trySend();
    this.#waiters.notify();
    return changes;
  }

  #applyOne(head: TrackedRunPod | undefined, next: RunPod, nowMs: number): RunPodChange | undefined {
    const { slot, job } = next;
    if (head === undefined) {
      const because = 'it is new in the manifests';
      const { pod } = this.#track(next, 'waiting', true);
      return { kind: 'started', pod, because };
    }
    if (job === undefined) delete head.job;
    else head.job = job;
    const change = podChange({ pod: head.pod, hasEnded: isTerminalPhase(head.status?.phase) }, next.pod);
    if (change.kind === 'same') return undefined;
    const { because } = change;
    if (change.kind === 'update' && head.state === 'active') {
      head.pod = updatedPod(head.pod, next.pod);
      return { kind: 'updated', pod: head.pod, because };
    }
    const earlier = head.pod;
    this.#retire(slot, `another one takes its place, as ${because}`, nowMs);
    const tracked = this.#track(next, 'waiting', true);
    if (this.#pods.has(earlier.metadata.uid)) tracked.because = because;
    return { kind: 'replaced', pod: tracked.pod, earlier, because };
  }

  #track(given: RunPod, state: TrackedRunPod['state'], isWanted: boolean): TrackedRunPod {
    const { slot, job } = given;
    const last = state === 'waiting' ? this.#lastUids.get(slot) : undefined;
    const pod = last === undefined ? given.pod : successor(given.pod, last);
    this.#lastUids.set(slot, pod.metadata.uid);
    const tracked: TrackedRunPod = {
      pod,
      slot,
      ...(job === undefined ? {} : { job }),
      state,
      status: undefined,
      isWanted,
      because: undefined,
      finished: false,
      failed: false,
    };
    this.#pods.set(pod.metadata.uid, tracked);
    return tracked;
  }

  /** Ends the pods of a slot that the manifests do not ask for any more. */
  #retire(slot: string, because: string, nowMs: number): void {
    for (const tracked of [...this.#pods.values()]) {
      if (tracked.slot !== slot || !tracked.isWanted) continue;
      tracked.isWanted = false;
      tracked.because = because;
      this.#stopOne(tracked, nowMs, undefined);
      this.#dropGone(tracked);
    }
  }

  #dropGone({ isWanted, state, pod }: TrackedRunPod): void {
    if (!isWanted && state === 'gone') this.#pods.delete(pod.metadata.uid);
  }

  /** Returns the source for the kubelet. It hears of nothing before `keep` has it on disk. */
  source(
    { deliver }: Pick<SourceContext, 'deliver'>,
    keep: (pods: readonly KeptPod[]) => Promise<void> = () => Promise.resolve(),
  ): PodSource {
    return {
      run: async (signal) => {
        for (;;) {
          const desired = [...this.#pods.values()].filter(
            ({ state }) => state === 'active' || state === 'stopping',
          );
          const kept = desired.map(({ pod, slot, job, isWanted }) => ({ pod, slot, job, isWanted }));
          await keep(kept);
          await deliver({ source: 'file', pods: kept.map(({ pod }) => pod) }, signal);
          if ((await this.#changed.receive(signal)).done) return;
        }
      },
    };
  }

  /** All pods of the run, in the order of the manifests. */
  list(): ShownPod[] {
    const ending = new Set(
      [...this.#pods.values()].filter(({ isWanted }) => !isWanted).map(({ pod }) => podFullName(pod)),
    );
    return [...this.#pods.values()]
      .filter(({ state, pod }) => state !== 'waiting' || !ending.has(podFullName(pod)))
      .map(({ pod, status, state, because }) => ({
        pod: status === undefined ? pod : { ...pod, status },
        state,
        ...(because === undefined || (state !== 'waiting' && state !== 'stopping') ? {} : { because }),
      }));
  }

  observe(uid: string, status: PodStatus): void {
    const tracked = this.#pods.get(uid);
    if (tracked === undefined || tracked.state === 'gone') return;
    tracked.status = status;
    if (status.phase === 'Failed' && tracked.state === 'active') tracked.failed = true;
    if (isTerminalPhase(status.phase)) this.#activateWaiting();
    this.#waiters.notify();
  }

  /** The pod's containers are gone and its worker is done. */
  finished(uid: string): void {
    const tracked = this.#pods.get(uid);
    if (tracked === undefined) return;
    tracked.finished = true;
    if (tracked.state === 'stopping') {
      tracked.state = 'gone';
      this.#dropGone(tracked);
      this.#activateWaiting();
      this.#changed.trySend();
    }
    this.#waiters.notify();
  }

  /** Stops these pods, or all, within their own or the given grace period. */
  stop(nowMs: number, uids?: ReadonlySet<string>, graceSeconds?: number): void {
    if (uids === undefined) this.#stopping = true;
    const slots = new Set([...(uids ?? [])].map((uid) => this.#pods.get(uid)?.slot));
    for (const [uid, tracked] of this.#pods) {
      // A pod that waits to take the place of a stopped one is stopped with it.
      const isMeant = uids?.has(uid) ?? true;
      if (isMeant || (tracked.state === 'waiting' && slots.has(tracked.slot)))
        this.#stopOne(tracked, nowMs, graceSeconds);
    }
    this.#changed.trySend();
    this.#waiters.notify();
  }

  #stopOne(tracked: TrackedRunPod, nowMs: number, graceSeconds: number | undefined): void {
    if (tracked.state === 'waiting' || tracked.finished) tracked.state = 'gone';
    if (tracked.state === 'gone') return;
    tracked.state = 'stopping';
    tracked.pod = stoppingPod(tracked.pod, nowMs, graceSeconds);
  }

  /** All pods were killed and removed. */
  killed(): void {
    for (const tracked of this.#pods.values()) tracked.state = 'gone';
    this.#waiters.notify();
  }

  /** Resolves when these pods, or all, are gone. */
  async gone(signal: AbortSignal, uids?: ReadonlySet<string>): Promise<void> {
    await this.#waiters.until(signal, () =>
      [...this.#pods].every(([uid, { state }]) => state === 'gone' || !(uids?.has(uid) ?? true)),
    );
  }

  /** Resolves when all pods have ended. Never resolves when a pod has restartPolicy Always. */
  async ended(signal: AbortSignal): Promise<void> {
    await this.#waiters.until(signal, () =>
      [...this.#pods.values()].every(
        ({ pod, state, status, finished, isWanted }) =>
          (shouldEnd(pod) || !isWanted) &&
          (state === 'gone' || (isWanted && finished && isTerminalPhase(status?.phase))),
      ),
    );
  }

  /** Pods that should have succeeded and failed, with their last status. */
  failures(): Pod[] {
    return [...this.#pods.values()]
      .filter(({ pod, failed, isWanted }) => failed && isWanted && shouldEnd(pod))
      .map(({ pod, status }) => (status === undefined ? pod : { ...pod, status }));
  }

  /** The longest grace period of the pods that are stopping. */
  longestGraceSeconds(): number {
    const graces = [...this.#pods.values()]
      .filter(({ state }) => state === 'stopping')
      .map(({ pod }) => pod.metadata.deletionGracePeriodSeconds ?? 0);
    return Math.max(0, ...graces);
  }

  #activateWaiting(): void {
    if (this.#stopping) return;
    const startable = startablePods([...this.#pods.values()]);
    for (const tracked of startable) {
      tracked.state = 'active';
      tracked.because = undefined;
    }
    if (startable.length > 0) this.#changed.trySend();
  }
}

/** True when a pod is expected to end by itself. */
export function shouldEnd(pod: Pod): boolean {
  return podRestartPolicy(pod) !== 'Always';
}
