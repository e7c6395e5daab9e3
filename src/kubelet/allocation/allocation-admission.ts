/** Judges pods by what the others were given: new ones, and those that ask for other resources while they run. */
import type { Pod, Quantity } from '../../kube/index.js';
import {
  type AllocatedResources,
  type AllocationMetrics,
  effectiveRequests,
  type PendingReason,
  type ResizeRules,
  type ResourcesInForce,
  requestsText,
  resizeInfeasibility,
} from '../../resources/allocation/index.js';
import { podRef, type Timeline } from '../../timeline/index.js';
import {
  type Admission,
  type AdmissionAttempt,
  type AdmissionHandler,
  type AdmissionOperation,
  admit,
  type Shortage,
} from '../admission/admission.js';
import type { MadeRoom } from '../admission/preempt.js';

export interface AllocationAdmissionOptions {
  readonly timeline: Timeline;
  readonly metrics: Pick<AllocationMetrics, 'infeasible'>;
  readonly allocated: AllocatedResources;
  /** Pods that may use resources of the node, as they are configured. */
  readonly active: () => readonly Pod[];
  readonly handlers: readonly AdmissionHandler[];
  readonly rules: ResizeRules;
  /** Whether a critical pod's resize ends others; where it does not, the scheduler sees to that. */
  readonly preemptsForResizes: boolean;
  readonly makeRoom: (pod: Pod, active: readonly Pod[], shortages: readonly Shortage[]) => Promise<MadeRoom>;
  /** What the runtime was last told of a pod. */
  readonly inForce: (pod: Pod) => ResourcesInForce;
  /** What a pod was given before its record was lost; undefined for a pod that never ran here. */
  readonly reconstruct: (pod: Pod) => Pod | undefined;
}

export type ResizeAnswer =
  | { readonly admit: true }
  | {
      readonly admit: false;
      readonly kind: PendingReason;
      readonly reason: string;
      readonly message: string;
    };

export class AllocationAdmission {
  readonly #options: AllocationAdmissionOptions;

  constructor(options: AllocationAdmissionOptions) {
    this.#options = options;
  }

  /** The pod with what it was given before this start, or the pod itself. */
  recall(pod: Pod): Pod {
    const { allocated, reconstruct } = this.#options;
    if (allocated.isLost && !allocated.has(pod.metadata.uid)) {
      const found = reconstruct(pod);
      if (found !== undefined) allocated.restore(found);
    }
    return allocated.allocatedPod(pod);
  }

  isFromBefore(pod: Pod): boolean {
    return this.#options.allocated.isFromBefore(pod.metadata.uid);
  }

  /** Whether the pod was admitted here; one that was not has no resources to be looked after. */
  isGiven(uid: string): boolean {
    return this.#options.allocated.has(uid);
  }

  admitNew(pod: Pod, active: readonly Pod[]): Admission | Promise<Admission> {
    return admit(this.#options.handlers, this.#attempt(pod, active, 'add'));
  }

  /** Records what an admitted pod is given. */
  give(pod: Pod): void {
    const { allocated, timeline } = this.#options;
    allocated.set(pod);
    timeline.record({
      kind: 'decision',
      what: 'pod.allocated',
      message: 'the pod is given its resources',
      pod: podRef(pod),
      data: { given: requestsText(pod) },
      level: 'debug',
    });
  }

  /** What can never be done is told apart from what lacks room; other pods make room for a critical one. */
  async judgeResize(pod: Pod, before: Pod): Promise<ResizeAnswer> {
    const { rules, metrics, handlers, preemptsForResizes, makeRoom } = this.#options;
    const infeasible = resizeInfeasibility(pod, before, rules);
    if (infeasible !== undefined) {
      metrics.infeasible.inc({ reason_detail: infeasible.detail });
      return { admit: false, kind: 'Infeasible', reason: 'Infeasible', message: infeasible.message };
    }
    const attempt = this.#attempt(pod, this.#options.active(), 'resize');
    let answer = await admit(handlers, attempt);
    if (!answer.admit && answer.shortages !== undefined && preemptsForResizes) {
      const made = await makeRoom(pod, attempt.others, answer.shortages);
      if (made.kind === 'refused') answer = made.refusal;
      else {
        const ended = new Set(made.ended.map(({ metadata }) => metadata.uid));
        const left = this.#options.active().filter(({ metadata }) => !ended.has(metadata.uid));
        answer = await admit(handlers, this.#attempt(pod, left, 'resize'));
      }
    }
    return answer.admit ? answer : { kind: 'Deferred', ...answer };
  }

  /** What a pod with its given resources counts for. */
  requestsOf(allocatedPod: Pod): ReadonlyMap<string, Quantity> {
    return effectiveRequests(allocatedPod, this.#options.inForce(allocatedPod));
  }

  /**
   * A pod from before this start is judged among those from before, by what they were given: it had its place beside them
   * already, and no newcomer takes it away.
   */
  #attempt(pod: Pod, active: readonly Pod[], operation: AdmissionOperation): AdmissionAttempt {
    const { allocated } = this.#options;
    const { uid } = pod.metadata;
    const isOld = operation === 'add' && allocated.isFromBefore(uid);
    const others = active
      .filter(({ metadata }) => metadata.uid !== uid && allocated.has(metadata.uid))
      .filter(({ metadata }) => !isOld || allocated.isFromBefore(metadata.uid))
      .map((other) => allocated.allocatedPod(other));
    if (isOld) return { pod, others, operation, holdsRoom: allocated.isGuessed(uid) };
    return { pod, others, operation, requestsOf: (other) => this.requestsOf(other) };
  }
}
