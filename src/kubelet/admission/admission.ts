/** Whether a pod may run on this node: handlers asked in order, the first refusal counts. */
import { isCriticalPod, type Pod } from '../../kube/index.js';

export type Admission = { readonly admit: true } | AdmissionRefusal;

export interface AdmissionRefusal {
  readonly admit: false;
  readonly reason: string;
  readonly message: string;
  /** What the node has too little of, if that is all that speaks against the pod. */
  readonly shortages?: readonly Shortage[];
}

/** CPU in millicores, anything else in whole units. */
export interface Shortage {
  readonly resource: string;
  readonly requested: number;
  readonly used: number;
  readonly capacity: number;
}

export const admitted: Admission = { admit: true };

export interface AdmissionHandler {
  readonly name: string;
  /** `others` are the active pods without the one in question. */
  admit(pod: Pod, others: readonly Pod[]): Admission;
}

export function admit(handlers: readonly AdmissionHandler[], pod: Pod, active: readonly Pod[]): Admission {
  const others = active.filter((other) => other.metadata.uid !== pod.metadata.uid);
  for (const handler of handlers) {
    const answer = handler.admit(pod, others);
    if (!answer.admit) return answer;
  }
  return admitted;
}

/**
 * All of these are asked, and the first refusal counts. Other pods may have to make room for a critical pod, but only if
 * nothing but resources speaks against it.
 */
export function together(handlers: readonly AdmissionHandler[]): AdmissionHandler {
  return {
    name: 'the node',
    admit(pod, others) {
      const refusals = handlers.flatMap((handler) => {
        const answer = handler.admit(pod, others);
        return answer.admit ? [] : [answer];
      });
      const [first] = refusals;
      if (first === undefined) return admitted;
      const { reason, message } = first;
      if (!isCriticalPod(pod)) return { admit: false, reason, message };
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
export function podLimit(maxPods: number): AdmissionHandler {
  return {
    name: 'pod limit',
    admit: (_pod, others) =>
      others.length < maxPods
        ? admitted
        : refusedFor([{ resource: 'pods', requested: 1, used: others.length, capacity: maxPods }]),
  };
}

/** Refuses pods that say they are made for another operating system. */
export const operatingSystem: AdmissionHandler = {
  name: 'operating system',
  admit: (pod) =>
    pod.spec.os === undefined || pod.spec.os.name === 'linux'
      ? { admit: true }
      : {
          admit: false,
          reason: 'PodOSNotSupported',
          message: "Failed to admit pod as the OS field doesn't match node OS",
        },
};
