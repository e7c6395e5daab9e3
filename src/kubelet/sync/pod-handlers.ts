/** What each kind of change in the desired pods leads to: admission, and work for the pod's worker. */

import { type Clock, type Gate, type TaskGroup, untilAborted } from '../../async/index.js';
import {
  configSeenAnnotation,
  configSourceAnnotation,
  isMirrorPod,
  isTerminalPhase,
  type Pod,
  type PodStatus,
  parseTimestamp,
  qosClass,
} from '../../kube/index.js';
import type { ConfigUpdate, PodConfig, PodManager } from '../../pods/desired/index.js';
import { needsReadinessReconcile, rejectedStatus } from '../../pods/status/index.js';
import type { PodWorkers } from '../../pods/workers/index.js';
import { podRef, type Timeline } from '../../timeline/index.js';
import { filterActive } from '../admission/active-pods.js';
import { type Admission, rejectionLabel, type Shortage } from '../admission/admission.js';
import type { MadeRoom } from '../admission/preempt.js';
import type { RefusedStaticPods } from '../admission/refused-static-pods.js';
import { resourceMode } from '../admission/resource-mode.js';
import type { AllocationAdmission } from '../allocation/allocation-admission.js';
import type { AllocationManager } from '../allocation/allocation-manager.js';
import type { KubeletMetrics } from '../metrics.js';
import type { LeftoverPods } from './leftover-pods.js';

export interface PodHandlersOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly pods: PodManager;
  readonly workers: PodWorkers;
  readonly config: Pick<PodConfig, 'allSourcesReady'>;
  readonly statuses: {
    get(uid: string): PodStatus | undefined;
    set(pod: Pod, status: PodStatus): void;
  };
  /** Who admits pods, and records what each is given. */
  readonly admission: Pick<AllocationAdmission, 'recall' | 'isFromBefore' | 'isGiven' | 'admitNew' | 'give'>;
  /** Told of changes that resizes may follow from. */
  readonly allocation: Pick<AllocationManager, 'added' | 'updated' | 'removed'>;
  /** One decision at a time, so that no two are about the same room. */
  readonly turns: Gate;
  /** Runs what waits until a pod can be judged again. */
  readonly tasks: Pick<TaskGroup, 'start'>;
  readonly metrics: Pick<KubeletMetrics, 'rejections' | 'podLevelAdmissions'>;
  /** Ends pods so that a critical one fits. */
  readonly makeRoom: (pod: Pod, active: readonly Pod[], shortages: readonly Shortage[]) => Promise<MadeRoom>;
  /** Removes all dead containers of a pod whose content is no longer wanted. */
  readonly removeAllDeadContainers: (uid: string) => void;
  /** Told of each static pod whose mirror the API showed. */
  readonly onMirror?: (staticPod: Pod) => void;
  /** Whom new pods wait for. */
  readonly leftovers?: Pick<LeftoverPods, 'before'>;
  /** Told who was refused, so that static pods are judged again when room appears. */
  readonly refusals?: Pick<RefusedStaticPods, 'refused' | 'admitted'>;
}

export class PodHandlers {
  readonly #options: PodHandlersOptions;
  readonly #waiting = new Set<string>();
  /** Of these, the pods that are to be judged again, each with the wait that is in force. */
  readonly #parked = new Map<string, object>();
  /** Deleted pods that are being ended before the update that tells of them was handled. */
  readonly #endedEarly = new WeakSet<Pod>();

  constructor(options: PodHandlersOptions) {
    this.#options = options;
  }

  /** A promise where admission takes its time; the next update must wait for it. */
  handle(update: ConfigUpdate): Promise<void> | undefined {
    switch (update.op) {
      case 'ADD':
        return this.additions(update.pods);
      case 'UPDATE':
      case 'DELETE':
        this.updates(update.pods);
        break;
      case 'REMOVE':
        this.removals(update.pods);
        break;
      case 'RECONCILE':
        this.reconcile(update.pods);
        break;
    }
    return undefined;
  }

  /** Pods that are neither admitted nor refused yet. */
  get waiting(): ReadonlySet<string> {
    return this.#waiting;
  }

  /** Pods from before the start come first: they have their place on the node already. */
  additions(added: readonly Pod[]): Promise<void> | undefined {
    const { admission, allocation, clock } = this.#options;
    const byAge = [...added].sort(byCreation);
    for (const pod of byAge) if (!isMirrorPod(pod)) this.#seen(pod);
    for (const pod of byAge)
      if (!isMirrorPod(pod) && !isTerminalPhase(pod.status?.phase)) admission.recall(pod);
    const isOld = (pod: Pod): boolean => admission.isFromBefore(pod);
    const inOrder = [...byAge.filter(isOld), ...byAge.filter((pod) => !isOld(pod))];
    const adding = this.#addAll(inOrder, clock.monotonic());
    if (adding !== undefined) return adding.then(() => allocation.added(inOrder));
    allocation.added(inOrder);
    return undefined;
  }

  #seen(pod: Pod): void {
    const { clock, timeline } = this.#options;
    const { [configSourceAnnotation]: source = '', [configSeenAnnotation]: shown = '' } =
      pod.metadata.annotations ?? {};
    const shownMs = parseTimestamp(shown);
    timeline.record({
      kind: 'observation',
      what: 'pod.seen',
      message: `${source || 'a source'} has shown the pod`,
      pod: podRef(pod),
      ...(shownMs === undefined ? {} : { durationMs: Math.max(0, clock.now() - shownMs) }),
      data: { source },
    });
  }

  #addAll(added: readonly Pod[], startMs: number): Promise<void> | undefined {
    for (const [index, pod] of added.entries()) {
      const later = this.#addInTurn(pod, startMs);
      if (later !== undefined) return later.then(() => this.#addAll(added.slice(index + 1), startMs));
    }
    return undefined;
  }

  #addInTurn(pod: Pod, startMs: number): Promise<void> | undefined {
    const { turns } = this.#options;
    if (turns.inside > 0) return turns.run(async () => this.#add(pod, startMs));
    const later = this.#add(pod, startMs);
    return later && turns.run(() => later);
  }

  #add(pod: Pod, startMs: number): Promise<void> | undefined {
    const { pods, workers, admission } = this.#options;
    this.#unpark(pod.metadata.uid);
    pods.upsert(pod);
    if (isMirrorPod(pod)) {
      this.#updateThroughMirror(pod, pod, startMs);
      return undefined;
    }
    const { uid } = pod.metadata;
    if (workers.isTerminationRequested(uid) || isTerminalPhase(pod.status?.phase)) {
      this.#handOver(pod, startMs);
      return undefined;
    }
    const asGiven = admission.recall(pod);
    const until = this.#options.leftovers?.before(pod);
    if (until !== undefined && this.#isParked(pod, { admit: false, ...leftoverRuns, until }, startMs))
      return undefined;
    const active = this.#active();
    const answer = admission.admitNew(asGiven, active);
    if (answer instanceof Promise || (!answer.admit && (answer.shortages ?? answer.until) !== undefined)) {
      return this.#addLater(pod, asGiven, answer, active, startMs);
    }
    this.settle(pod, asGiven, answer, startMs);
    return undefined;
  }

  /** For a pod that is judged over time; where others make room for it, it is judged again as if they were gone. */
  async #addLater(
    pod: Pod,
    asGiven: Pod,
    first: Admission | Promise<Admission>,
    active: readonly Pod[],
    startMs: number,
  ): Promise<void> {
    const { admission, makeRoom } = this.#options;
    const { uid } = pod.metadata;
    this.#waiting.add(uid);
    try {
      const answer = await first;
      if (this.#isParked(pod, answer, startMs)) return;
      if (answer.admit || answer.shortages === undefined) return this.settle(pod, asGiven, answer, startMs);
      const made = await makeRoom(asGiven, active, answer.shortages);
      if (made.kind === 'refused') return this.settle(pod, asGiven, made.refusal, startMs);
      const ended = new Set(made.ended.map(({ metadata }) => metadata.uid));
      const left = this.#active().filter(({ metadata }) => !ended.has(metadata.uid));
      const second = await admission.admitNew(asGiven, left);
      if (!this.#isParked(pod, second, startMs)) this.settle(pod, asGiven, second, startMs);
    } finally {
      if (!this.#parked.has(uid)) this.#waiting.delete(uid);
    }
  }

  /** For an answer that says when to ask again: whoever comes next has its turn meanwhile. */
  #isParked({ metadata: { uid, name } }: Pod, answer: Admission, startMs: number): boolean {
    const { pods, tasks, turns, allocation } = this.#options;
    if (answer.admit || answer.until === undefined) return false;
    // It was removed while it was judged.
    if (pods.byUid(uid) === undefined) return true;
    const { until } = answer;
    const wait = {};
    this.#waiting.add(uid);
    this.#parked.set(uid, wait);
    tasks.start(`the admission of pod ${name}`, async (signal) => {
      await untilAborted(until, signal);
      await turns.run(
        async () => {
          const pod = pods.byUid(uid);
          if (this.#parked.get(uid) !== wait || pod === undefined) return;
          await this.#add(pod, startMs);
          allocation.added([pod]);
        },
        { signal },
      );
    });
    return true;
  }

  #unpark(uid: string): boolean {
    if (!this.#parked.delete(uid)) return false;
    this.#waiting.delete(uid);
    return true;
  }

  /** A pod that is not judged yet has no worker; only one that is deleted meanwhile gets one, to end it. */
  #isUnjudged({ metadata: { uid, deletionTimestamp } }: Pod): boolean {
    if (!this.#waiting.has(uid)) return false;
    return deletionTimestamp === undefined || !this.#unpark(uid);
  }

  #active(): Pod[] {
    const { pods, workers, statuses } = this.#options;
    return filterActive(pods.list(), { workers, statuses });
  }

  updates(updated: readonly Pod[]): void {
    const { pods, workers, allocation, clock } = this.#options;
    const startMs = clock.monotonic();
    for (const given of updated) {
      const before = pods.byUid(given.metadata.uid);
      pods.upsert(given);
      if (this.#endedEarly.has(given)) continue;
      const { pod, mirror, wasMirror } = pods.podAndMirror(given);
      if (pod === undefined || this.isRefused(pod) || this.#isUnjudged(pod)) continue;
      const isHeld = !wasMirror && allocation.updated(before, pod);
      if (isHeld && pod.metadata.deletionTimestamp === undefined) continue;
      workers.update({ type: 'update', pod, startMs, ...(mirror === undefined ? {} : { mirror }) });
    }
  }

  /**
   * Ends pods that have a worker as soon as their deletion is known. The update that tells of it waits while the runtime does
   * not answer, or another pod's admission takes its time, and nothing of a deleted pod may start meanwhile.
   */
  deleted(pods: readonly Pod[]): void {
    const ending = pods.filter(({ metadata: { uid } }) => this.#options.workers.stateOf(uid) !== undefined);
    this.updates(ending);
    for (const pod of ending) this.#endedEarly.add(pod);
  }

  removals(removed: readonly Pod[]): void {
    const { pods, workers, config, timeline, clock, allocation } = this.#options;
    const startMs = clock.monotonic();
    for (const pod of removed) {
      pods.remove(pod);
      if (isMirrorPod(pod)) {
        // Without the one that is gone, so that a new one is made at once.
        this.#updateThroughMirror(pod, pods.mirrorOf(pod), startMs);
        continue;
      }
      this.#unpark(pod.metadata.uid);
      allocation.removed(pod.metadata.uid);
      if (config.allSourcesReady) {
        workers.update({ type: 'kill', pod, startMs });
      } else {
        timeline.record({
          kind: 'decision',
          what: 'pod.remove',
          message: 'pod is not stopped yet',
          because: "skipping delete because sources aren't ready yet; it is stopped once all of them are",
          pod: podRef(pod),
        });
      }
    }
  }

  /** What the API says of a pod that was never admitted here leads to nothing. */
  reconcile(changed: readonly Pod[]): void {
    const { pods, admission, removeAllDeadContainers } = this.#options;
    for (const given of changed) {
      pods.upsert(given);
      const { pod } = pods.podAndMirror(given);
      if (pod === undefined || !admission.isGiven(pod.metadata.uid)) continue;
      const uid = pod.metadata.uid;
      if (needsReadinessReconcile(pod)) this.syncs([uid]);
      if (pod.status?.phase === 'Failed' && pod.status.reason === 'Evicted') removeAllDeadContainers(uid);
    }
  }

  /** Makes the workers sync these pods again. */
  syncs(uids: readonly string[]): void {
    const { pods, workers, clock } = this.#options;
    const startMs = clock.monotonic();
    for (const uid of uids) {
      const pod = pods.byUid(uid);
      if (pod === undefined || this.#waiting.has(uid)) continue;
      const mirror = pods.mirrorOf(pod);
      workers.update({ type: 'sync', pod, startMs, ...(mirror === undefined ? {} : { mirror }) });
    }
  }

  #updateThroughMirror(seen: Pod, mirror: Pod | undefined, startMs: number): void {
    const { pods, workers, onMirror } = this.#options;
    const { pod } = pods.podAndMirror(seen);
    if (pod === undefined) return;
    if (!this.#waiting.has(pod.metadata.uid)) {
      workers.update({ type: 'update', pod, startMs, ...(mirror === undefined ? {} : { mirror }) });
    }
    onMirror?.(pod);
  }

  /** A pod that was refused has no worker, and a change of it makes none. */
  isRefused({ metadata: { uid } }: Pod): boolean {
    const { workers, statuses } = this.#options;
    return workers.stateOf(uid) === undefined && statuses.get(uid)?.phase === 'Failed';
  }

  /** Gives an admitted pod what it was judged by, and hands it to its worker; a refused one has failed. */
  settle(judged: Pod, asGiven: Pod, answer: Admission, startMs: number): void {
    const { pods, statuses, timeline, metrics, admission, refusals } = this.#options;
    // It may have changed, or gone, while it was judged.
    const pod = pods.byUid(judged.metadata.uid);
    if (pod === undefined) return;
    if (!answer.admit) {
      timeline.event(podRef(pod), 'Warning', answer.reason, answer.message);
      statuses.set(pod, rejectedStatus(pod, answer.reason, answer.message));
      metrics.rejections.inc({ reason: rejectionLabel(answer.reason) });
      refusals?.refused(pod, answer.reason);
      return;
    }
    refusals?.admitted(pod.metadata.uid);
    metrics.podLevelAdmissions.inc({
      config_mode: resourceMode(pod),
      qos_class: qosClass(pod).toLowerCase(),
    });
    timeline.record({
      kind: 'decision',
      what: 'pod.admit',
      message: 'pod is admitted',
      pod: podRef(pod),
      level: 'debug',
    });
    admission.give(asGiven);
    this.#handOver(pod, startMs);
  }

  #handOver(pod: Pod, startMs: number): void {
    const { pods, workers } = this.#options;
    const mirror = pods.mirrorOf(pod);
    workers.update({ type: 'create', pod, startMs, ...(mirror === undefined ? {} : { mirror }) });
  }
}

/** Nobody is told: the pod is not refused. */
const leftoverRuns = { reason: 'LeftoverPods', message: 'what an earlier kubelet has left is ended first' };

function byCreation(a: Pod, b: Pod): number {
  const [left, right] = [a.metadata.creationTimestamp ?? '', b.metadata.creationTimestamp ?? ''];
  return left < right ? -1 : left > right ? 1 : 0;
}
