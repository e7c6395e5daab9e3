/** Drives what pods are given: admits new pods by it, tries the resizes that wait, and tries them again when room comes. */
import {
  type Clock,
  errorText,
  type Gate,
  isCancelled,
  type TaskGroup,
  type Timer,
} from '../../async/index.js';
import { isTerminalPhase, type Pod, type PodStatus, type Quantity } from '../../kube/index.js';
import type { PodManager } from '../../pods/desired/index.js';
import {
  type AllocatedResources,
  type AllocationMetrics,
  hasShrunk,
  neededFeatures,
  ResizeQueue,
  type ResizeRank,
  requestedChanges,
  resizeRank,
} from '../../resources/allocation/index.js';
import { podRef, type Timeline } from '../../timeline/index.js';
import type { AllocationAdmission } from './allocation-admission.js';
import type { ResizeStates } from './resize-states.js';
import type { RetryTrigger } from './retry-trigger.js';

export const retryMs = 180_000;
export const retryUnreadyMs = 30_000;
/** How long an update waits for its resize to be judged, so that one sync makes both real. */
const heldMs = 100;

export interface AllocationManagerOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly metrics: AllocationMetrics;
  readonly tasks: TaskGroup;
  readonly allocated: AllocatedResources;
  readonly states: ResizeStates;
  readonly admission: Pick<AllocationAdmission, 'judgeResize' | 'requestsOf'>;
  readonly pods: Pick<PodManager, 'byUid'>;
  /** Pods that may use resources of the node, as they are configured. */
  readonly active: () => readonly Pod[];
  /** The features that the node declares. */
  readonly features: readonly string[];
  /** One decision at a time, so that no two are about the same room. */
  readonly turns: Gate;
  readonly allSourcesReady: () => boolean;
  readonly sync: (uids: readonly string[]) => void;
}

export class AllocationManager {
  readonly #options: AllocationManagerOptions;
  readonly #queue = new ResizeQueue();
  readonly #triggers = new Set<RetryTrigger>();
  /** What pods counted for when last looked at, while a resize waits for any of it. */
  readonly #seen = new Map<string, ReadonlyMap<string, Quantity>>();
  /** Updated pods whose workers are told once the resize is judged. */
  readonly #held = new Map<string, Timer>();
  #isTrying = false;
  /** The pod whose new resources are being recorded. */
  #granting: string | undefined;
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(options: AllocationManagerOptions) {
    this.#options = options;
  }

  /** After all pods of an update have been admitted or refused. */
  added(pods: readonly Pod[]): void {
    const { allocated, states } = this.#options;
    let isAnyPending = false;
    for (const pod of pods) {
      const { uid } = pod.metadata;
      if (!allocated.has(uid) || isTerminalPhase(pod.status?.phase)) continue;
      const isPending = allocated.differs(pod);
      states.adopt(pod, isPending);
      if (!isPending) continue;
      this.#enqueue(uid);
      isAnyPending = true;
    }
    if (isAnyPending) this.retry('pods_added');
  }

  /** True: the pod is synced as soon as its resize is judged, and in any case very soon. */
  updated(before: Pod | undefined, pod: Pod): boolean {
    const { allocated, states, metrics } = this.#options;
    const { uid } = pod.metadata;
    if (!allocated.has(uid)) return false;
    if (before !== undefined) {
      for (const change of requestedChanges(before, pod)) metrics.requested.inc({ ...change });
      if (!allocated.isChanged(before, pod)) return false;
      this.#checkFeatures(before, pod);
    }
    // What is about to be given counts too: a pod that asks for the old resources again is tried once more.
    if (allocated.differs(pod) || this.#granting === uid) {
      this.#enqueue(uid);
      if (!this.retry('pod_updated')) return false;
      this.#hold(uid);
      return true;
    }
    this.#queue.remove(uid);
    states.resolved(uid, 'reverted');
    return false;
  }

  /** Whoever let the spec through did not know this node; what it cannot do shows when it is tried. */
  #checkFeatures(before: Pod, pod: Pod): void {
    const { features, timeline } = this.#options;
    const missing = neededFeatures(before, pod).filter((feature) => !features.includes(feature));
    if (missing.length === 0) return;
    timeline.event(
      podRef(pod),
      'Warning',
      'FailedNodeDeclaredFeaturesCheck',
      `Pod requires node features that are not available: ${missing.join(', ')}`,
    );
  }

  removed(uid: string): void {
    const { allocated, states } = this.#options;
    this.#queue.remove(uid);
    this.#seen.delete(uid);
    this.#release(uid);
    states.ended(uid);
    allocated.remove(uid);
    this.retry('pods_removed');
  }

  /** A pod that has ended, or shrunk, leaves room to others. */
  statusChanged(uid: string, status: PodStatus): void {
    const { states } = this.#options;
    if (isTerminalPhase(status.phase)) {
      this.#queue.remove(uid);
      states.ended(uid);
      this.retry('pod_terminated');
      return;
    }
    if (this.#queue.size === 0) return;
    const before = this.#seen.get(uid);
    const now = this.#look(uid);
    if (before !== undefined && now !== undefined && hasShrunk(before, now)) this.retry('pod_resized');
  }

  /** All that a pod had is released. */
  finished(): void {
    this.retry('pod_terminated');
  }

  keepOnly(isKept: (uid: string) => boolean): void {
    this.#options.allocated.keepOnly(isKept);
    this.#options.states.keepOnly(isKept);
  }

  /** Tries all resizes that wait, in their order. False: not now. */
  retry(trigger: RetryTrigger): boolean {
    if (this.#queue.size === 0 || this.#isStopped) return false;
    const isReady = this.#options.allSourcesReady();
    this.#arm(isReady ? retryMs : retryUnreadyMs);
    if (!isReady) return false;
    this.#triggers.add(trigger);
    if (this.#isTrying) return true;
    this.#isTrying = true;
    this.#options.tasks.start('the resizes that wait', async (signal) => {
      try {
        // Nothing is awaited between the last look at the triggers and the end, so none is lost.
        for (const trigger of this.#triggers) {
          this.#triggers.delete(trigger);
          await this.#tryAll(trigger, signal);
        }
      } finally {
        this.#isTrying = false;
      }
    });
    return true;
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
    for (const uid of [...this.#held.keys()]) this.#release(uid);
  }

  #hold(uid: string): void {
    if (this.#held.has(uid)) return;
    this.#held.set(
      uid,
      this.#options.clock.setTimer(heldMs, () => this.#sync(uid)),
    );
  }

  /** Whether the pod was held. */
  #release(uid: string): boolean {
    this.#held.get(uid)?.cancel();
    return this.#held.delete(uid);
  }

  #sync(uid: string): void {
    this.#release(uid);
    this.#options.sync([uid]);
  }

  #arm(delayMs: number): void {
    this.#timer?.cancel();
    this.#timer = this.#options.clock.setTimer(delayMs, () => void this.retry('periodic_retry'));
  }

  async #tryAll(trigger: RetryTrigger, signal: AbortSignal): Promise<void> {
    for (const uid of this.#queue.inOrder((one) => this.#rankOf(one))) {
      if (signal.aborted) return;
      await this.#options.turns.run(() => this.#try(uid, trigger), { signal });
      if (this.#held.has(uid)) this.#sync(uid);
    }
    if (this.#queue.size === 0) {
      this.#timer?.cancel();
      this.#seen.clear();
    }
  }

  async #try(uid: string, trigger: RetryTrigger): Promise<void> {
    const { pods, allocated, states, metrics } = this.#options;
    // Nothing is told of the resize of a pod that has ended since the round began.
    if (!this.#queue.has(uid)) return;
    const pod = pods.byUid(uid);
    if (pod === undefined || !allocated.has(uid)) return this.#queue.remove(uid);
    if (!allocated.differs(pod)) {
      this.#queue.remove(uid);
      if (states.resolved(uid, 'reverted')) this.#sync(uid);
      return;
    }
    const before = allocated.allocatedPod(pod);
    const answer = await this.#options.admission.judgeResize(pod, before);
    const current = pods.byUid(uid);
    // A pod that changed while it was judged is tried again for what it asks now.
    if (current === undefined || !this.#queue.has(uid) || allocated.isChanged(pod, current)) return;
    if (!answer.admit) {
      const { kind, reason, message } = answer;
      if (kind === 'Infeasible') this.#queue.remove(uid);
      states.refused(pod, before, { kind, cause: reason, message });
      return this.#sync(uid);
    }
    if (!(await this.#grant(pod)) || !this.#queue.has(uid)) return;
    this.#queue.remove(uid);
    if (states.isDeferred(uid)) metrics.deferredAccepted.inc({ retry_trigger: trigger });
    states.accepted(pod, before);
    this.#sync(uid);
    // It asked for something else while this was recorded.
    const next = pods.byUid(uid);
    if (next !== undefined && allocated.differs(next)) this.#enqueue(uid);
  }

  /** False where it could not be recorded: the pod keeps what it has, and waits on. */
  async #grant(pod: Pod): Promise<boolean> {
    const { allocated, timeline } = this.#options;
    const { uid } = pod.metadata;
    this.#granting = uid;
    try {
      await allocated.grant(pod);
      return allocated.has(uid);
    } catch (error) {
      if (isCancelled(error)) throw error;
      timeline.record({
        kind: 'problem',
        what: 'pod.allocate',
        message: 'the pod is not given other resources yet',
        because: errorText(error),
        pod: podRef(pod),
        level: 'warn',
        error,
      });
      return false;
    } finally {
      this.#granting = undefined;
    }
  }

  #enqueue(uid: string): void {
    this.#queue.add(uid);
    for (const { metadata } of this.#options.active()) {
      if (!this.#seen.has(metadata.uid)) this.#look(metadata.uid);
    }
  }

  #rankOf(uid: string): ResizeRank | undefined {
    const { pods, allocated, states } = this.#options;
    const pod = pods.byUid(uid);
    return pod && resizeRank(pod, allocated.allocatedPod(pod), states.pendingSinceMs(uid));
  }

  #look(uid: string): ReadonlyMap<string, Quantity> | undefined {
    const { pods, allocated } = this.#options;
    const pod = pods.byUid(uid);
    if (pod === undefined || !allocated.has(uid)) return undefined;
    const now = this.#options.admission.requestsOf(allocated.allocatedPod(pod));
    this.#seen.set(uid, now);
    return now;
  }
}
