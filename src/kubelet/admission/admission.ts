/** Whether a pod may run on this node: handlers asked in order, the first refusal counts. */
import type { Pod } from '../../kube/index.js';

export type Admission =
  | { readonly admit: true }
  | { readonly admit: false; readonly reason: string; readonly message: string };

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
        ? { admit: true }
        : {
            admit: false,
            reason: 'OutOfpods',
            message: `Node didn't have enough resource: pods, requested: 1, used: ${others.length}, capacity: ${maxPods}`,
          },
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
