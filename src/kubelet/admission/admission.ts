/** Whether a pod may run on this node: handlers asked in order, the first refusal counts. */
import { errorText, isCancelled } from '../../async/index.js';
import { isCriticalPod, type Pod, type Quantity } from '../../kube/index.js';

export type Admission = { readonly admit: true } | AdmissionRefusal;

export interface AdmissionRefusal {
  readonly admit: false;
  readonly reason: string;
  readonly message: string;
  /** What the node has too little of, if that is all that speaks against the pod. */
  readonly shortages?: readonly Shortage[];
  /** Set if nothing is decided yet: the pod is judged again when this resolves, and others go on meanwhile. */
  readonly until?: Promise<void>;
}

/** CPU in millicores, anything else in whole units. */
export interface Shortage {
  readonly resource: string;
  readonly requested: number;
  readonly used: number;
  readonly capacity: number;
}

export const admitted: Admission = { admit: true };

/** A pod is new to the node, or it asks for other resources than it was given. */
export type AdmissionOperation = 'add' | 'resize';

export interface AdmissionAttempt {
  readonly pod: Pod;
  /** The active pods without the one in question, with the resources that they were given. */
  readonly others: readonly Pod[];
  readonly operation: AdmissionOperation;
  /** The pod runs here already, and what it was given is only guessed: it needs no room. */
  readonly holdsRoom?: boolean;
  /** What another pod counts for; by default what it requests. */
  readonly requestsOf?: (other: Pod) => ReadonlyMap<string, Quantity>;
}

export interface AdmissionHandler {
  readonly name: string;
  /** A promise where the answer takes its time; whatever comes next for the pod waits for it. */
  admit(attempt: AdmissionAttempt): Admission | Promise<Admission>;
}

/** A handler that decides at once and gives the pod nothing, so that it may be asked for forecasts too. */
export interface AdmissionRule extends AdmissionHandler {
  admit(attempt: AdmissionAttempt): Admission;
}

/** Asks all handlers in order; the answer is at hand unless one of them takes its time. */
export function admit(handlers: readonly AdmissionRule[], attempt: AdmissionAttempt): Admission;
export function admit(
  handlers: readonly AdmissionHandler[],
  attempt: AdmissionAttempt,
): Admission | Promise<Admission>;
export function admit(
  handlers: readonly AdmissionHandler[],
  attempt: AdmissionAttempt,
): Admission | Promise<Admission> {
  const { uid } = attempt.pod.metadata;
  const others = attempt.others.filter((other) => other.metadata.uid !== uid);
  return admitFrom(handlers, { ...attempt, others });
}

function admitFrom(
  handlers: readonly AdmissionHandler[],
  attempt: AdmissionAttempt,
): Admission | Promise<Admission> {
  for (const [index, handler] of handlers.entries()) {
    const answer = asked(handler, attempt);
    if (answer instanceof Promise) {
      const rest = handlers.slice(index + 1);
      return answer.then((given) => (given.admit ? admitFrom(rest, attempt) : given), unexpected);
    }
    if (!answer.admit) return answer;
  }
  return admitted;
}

function asked(handler: AdmissionHandler, attempt: AdmissionAttempt): Admission | Promise<Admission> {
  try {
    return handler.admit(attempt);
  } catch (error) {
    return unexpected(error);
  }
}

/** A handler that fails must not hold up the pods behind this one. */
function unexpected(error: unknown): Admission {
  if (isCancelled(error)) throw error;
  return {
    admit: false,
    reason: 'UnexpectedAdmissionError',
    message: `Allocate failed due to ${errorText(error)}, which is unexpected`,
  };
}

/**
 * All of these are asked, and the first refusal counts. Other pods may have to make room for a critical pod, but only if
 * nothing but resources speaks against it.
 */
export function together(rules: readonly AdmissionRule[]): AdmissionRule {
  return {
    name: 'the node',
    admit(attempt) {
      const refusals = rules.flatMap((rule) => {
        const answer = rule.admit(attempt);
        return answer.admit ? [] : [answer];
      });
      const [first] = refusals;
      if (first === undefined) return admitted;
      const { reason, message } = first;
      if (!isCriticalPod(attempt.pod)) return { admit: false, reason, message };
      const other = refusals.find(({ shortages }) => shortages === undefined);
      if (other !== undefined) return other;
      return {
        admit: false,
        reason,
        message,
        shortages: refusals.flatMap(({ shortages }) => shortages ?? []),
      };
    },
  };
}

/** Refuses a pod for what the node has too little of; the first is told. */
export function refusedFor(shortages: readonly Shortage[]): Admission {
  const [first] = shortages;
  if (first === undefined) return admitted;
  const { resource, requested, used, capacity } = first;
  return {
    admit: false,
    reason: `OutOf${resource}`,
    message: `Node didn't have enough resource: ${resource}, requested: ${requested}, used: ${used}, capacity: ${capacity}`,
    shortages,
  };
}

/** Reasons that are counted under their own name. */
const countedReasons = new Set([
  'AppArmor',
  'PodOSSelectorNodeLabelDoesNotMatch',
  'PodOSNotSupported',
  'InvalidNodeInfo',
  'InitContainerRestartPolicyForbidden',
  'SupplementalGroupsPolicyNotSupported',
  'UnexpectedAdmissionError',
  'UnknownReason',
  'UnexpectedPredicateFailureType',
  'OutOfcpu',
  'OutOfmemory',
  'OutOfephemeral-storage',
  'OutOfpods',
  'PodLevelResourcesNotSupported',
  'PodFeatureUnsupported',
  "node(s) had taints that the pod didn't tolerate",
  'Evicted',
  'SysctlForbidden',
  'TopologyAffinityError',
  'NodeShutdown',
  'VolumeAttachmentLimitExceeded',
]);

/** The label under which a refusal is counted. */
export function rejectionLabel(reason: string): string {
  if (countedReasons.has(reason)) return reason;
  return reason.startsWith('OutOf') ? 'OutOfExtendedResources' : 'Other';
}

/** Refuses pods beyond the number that the node may hold. */
export function podLimit(maxPods: number): AdmissionRule {
  return {
    name: 'pod limit',
    admit: ({ others }) =>
      others.length < maxPods
        ? admitted
        : refusedFor([{ resource: 'pods', requested: 1, used: others.length, capacity: maxPods }]),
  };
}

/** Refuses pods that say they are made for another operating system. */
export const operatingSystem: AdmissionRule = {
  name: 'operating system',
  admit: ({ pod }) =>
    pod.spec.os === undefined || pod.spec.os.name === 'linux'
      ? { admit: true }
      : {
          admit: false,
          reason: 'PodOSNotSupported',
          message: "Failed to admit pod as the OS field doesn't match node OS",
        },
};
