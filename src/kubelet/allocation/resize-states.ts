/** Where the resize of each pod stands: the conditions that its status shows, and who is told when they change. */
import type { Clock } from '../../async/index.js';
import type { Pod, PodCondition, PodStatus } from '../../kube/index.js';
import {
  type AllocationMetrics,
  adoptedCondition,
  failedCondition,
  inProgressCondition,
  isNewPending,
  type PendingReason,
  pendingCondition,
  pendingSinceMs,
  requestsText,
  resizeInProgress,
  resizePending,
  resizeText,
} from '../../resources/allocation/index.js';
import { podRef, type Timeline } from '../../timeline/index.js';
import { priorityBucket, priorityBuckets } from './priority-bucket.js';

export interface ResizeStatesOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly metrics: AllocationMetrics;
  readonly podOf: (uid: string) => Pod | undefined;
}

interface ResizeState {
  readonly pending?: PodCondition | undefined;
  readonly inProgress?: PodCondition | undefined;
}

/** Why a resize does not wait any more. */
export type ResizeResolution = 'accepted' | 'reverted' | 'terminated';

export interface ResizeRefusal {
  readonly kind: PendingReason;
  /** The reason of whoever refused it: `OutOfcpu`. */
  readonly cause: string;
  readonly message: string;
}

export class ResizeStates {
  readonly #options: ResizeStatesOptions;
  readonly #states = new Map<string, ResizeState>();

  constructor(options: ResizeStatesOptions) {
    this.#options = options;
  }

  /** For the pod's status, in the order in which it shows them. */
  conditions(uid: string): readonly PodCondition[] {
    const { pending, inProgress } = this.#states.get(uid) ?? {};
    return [pending, inProgress].filter((condition) => condition !== undefined);
  }

  pendingSinceMs(uid: string): number | undefined {
    return pendingSinceMs(this.#states.get(uid)?.pending);
  }

  /** Whether the pod's status tells why a resize waits or cannot be done. */
  isPending(uid: string): boolean {
    return this.#states.get(uid)?.pending !== undefined;
  }

  /** Whether what any pod was given is being made real. One that failed is tried again much later. */
  get isAnyUnderWay(): boolean {
    for (const { inProgress } of this.#states.values())
      if (inProgress !== undefined && inProgress.reason === undefined) return true;
    return false;
  }

  isDeferred(uid: string): boolean {
    return this.#states.get(uid)?.pending?.reason === 'Deferred';
  }

  /** Goes on with what an earlier run told the API; a resize that is not wanted any more does not wait. */
  adopt({ metadata: { uid }, status }: Pod, isWanted: boolean): void {
    const nowMs = this.#options.clock.now();
    const adopted = (type: string): PodCondition | undefined => {
      const found = conditionOf(status, type);
      return found && adoptedCondition(found, nowMs);
    };
    this.#set(uid, {
      pending: isWanted ? adopted(resizePending) : undefined,
      inProgress: adopted(resizeInProgress),
    });
  }

  refused(pod: Pod, allocated: Pod, { kind, cause, message }: ResizeRefusal): void {
    const { clock, timeline } = this.#options;
    const { uid, generation } = pod.metadata;
    const state = this.#states.get(uid);
    const pending = pendingCondition(state?.pending, { reason: kind, message, generation }, clock.now());
    this.#set(uid, { ...state, pending });
    if (!isNewPending(state?.pending, pending)) return;
    timeline.event(
      podRef(pod),
      'Warning',
      `Resize${kind}`,
      `Pod resize ${cause}: ${resizeText(pod, generation, message)}`,
    );
    timeline.record({
      kind: 'decision',
      what: 'pod.resizeWaits',
      message: kind === 'Deferred' ? 'the resize waits' : 'the resize cannot be done on this node',
      because: message.trim(),
      pod: podRef(pod),
      data: { reason: kind, cause, asked: requestsText(pod), given: requestsText(allocated) },
      level: 'warn',
    });
  }

  /** The pod was given what it asks for. */
  accepted(pod: Pod, before: Pod): void {
    const { clock, timeline } = this.#options;
    const { uid, generation } = pod.metadata;
    this.resolved(uid, 'accepted');
    this.#set(uid, { inProgress: inProgressCondition(generation, clock.now()) });
    timeline.event(
      podRef(pod),
      'Normal',
      'ResizeStarted',
      `Pod resize started: ${resizeText(pod, generation)}`,
    );
    timeline.record({
      kind: 'decision',
      what: 'pod.allocated',
      message: 'the pod is given other resources',
      pod: podRef(pod),
      data: { given: requestsText(pod), before: requestsText(before) },
    });
  }

  /** Nothing waits any more; whether something did. */
  resolved(uid: string, resolution: ResizeResolution): boolean {
    const { clock, timeline, metrics, podOf } = this.#options;
    const { pending, ...rest } = this.#states.get(uid) ?? {};
    if (pending === undefined) return false;
    this.#set(uid, rest);
    const pod = podOf(uid);
    const sinceMs = pendingSinceMs(pending);
    if (pending.reason === 'Deferred' && sinceMs !== undefined) {
      metrics.deferredDuration.observe(Math.max(0, clock.now() - sinceMs) / 1000, {
        resolution,
        priority_bucket: priorityBucket(pod),
      });
    }
    timeline.record({
      kind: 'transition',
      what: 'pod.resizeSettled',
      message: `the resize does not wait any more: ${resolution}`,
      ...(pod === undefined ? {} : { pod: podRef(pod) }),
      data: { resolution },
    });
    return true;
  }

  /** At the start of each sync. The pod is as it was given its resources. */
  syncBegins(allocated: Pod, isUnderWay: boolean): void {
    const { clock, timeline } = this.#options;
    const { uid, generation } = allocated.metadata;
    const state = this.#states.get(uid);
    if (isUnderWay) {
      if (state?.inProgress === undefined)
        this.#set(uid, { ...state, inProgress: inProgressCondition(generation, clock.now()) });
      return;
    }
    if (state?.inProgress === undefined) return;
    this.#set(uid, { pending: state.pending });
    timeline.event(
      podRef(allocated),
      'Normal',
      'ResizeCompleted',
      `Pod resize completed: ${resizeText(allocated, state.inProgress.observedGeneration)}`,
    );
  }

  /** What the pod was given could not be made real; it is tried again. */
  failed(allocated: Pod, message: string): void {
    const { clock, timeline } = this.#options;
    const { uid, generation } = allocated.metadata;
    const state = this.#states.get(uid);
    const nowMs = clock.now();
    const before = state?.inProgress ?? inProgressCondition(generation, nowMs);
    const inProgress = failedCondition(before, message, nowMs);
    this.#set(uid, { ...state, inProgress });
    if (before.reason === inProgress.reason && before.message === inProgress.message) return;
    timeline.event(
      podRef(allocated),
      'Warning',
      'ResizeError',
      `Pod resize error: ${resizeText(allocated, inProgress.observedGeneration, message)}`,
    );
  }

  /** The pod has ended: neither of the two means anything any more. */
  ended(uid: string): void {
    this.resolved(uid, 'terminated');
    this.#states.delete(uid);
  }

  keepOnly(isKept: (uid: string) => boolean): void {
    for (const uid of this.#states.keys()) if (!isKept(uid)) this.#states.delete(uid);
  }

  /** Every combination is set, so that one that no pod is in any more falls to zero. */
  count(): void {
    const { metrics, podOf } = this.#options;
    const counts = new Map<string, number>();
    let inProgress = 0;
    for (const [uid, state] of this.#states) {
      if (state.inProgress !== undefined) inProgress++;
      if (state.pending === undefined) continue;
      const key = `${state.pending.reason?.toLowerCase()} ${priorityBucket(podOf(uid))}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    metrics.inProgress.set(inProgress);
    for (const reason of ['deferred', 'infeasible']) {
      for (const bucket of priorityBuckets)
        metrics.pending.set(counts.get(`${reason} ${bucket}`) ?? 0, { reason, priority_bucket: bucket });
    }
  }

  #set(uid: string, state: ResizeState): void {
    if (state.pending === undefined && state.inProgress === undefined) this.#states.delete(uid);
    else this.#states.set(uid, state);
  }
}

function conditionOf(status: PodStatus | undefined, type: string): PodCondition | undefined {
  return status?.conditions?.find((condition) => condition.type === type && condition.status === 'True');
}
