/** Pods: defaults, what a new pod is given, and what may change later. */
import { applyPodDefaults } from '../../../kube/manifests/defaults.js';
import type { FieldError } from '../../../kube/manifests/validation/field-errors.js';
import { validatePod } from '../../../kube/manifests/validation.js';
import type { Pod, PodStatus } from '../../../kube/types/index.js';
import { type ObjectSubresource, resources } from '../../../kube-client/resources.js';
import { decideDeletion } from '../../objects/object-rules.js';
import { served } from '../served-kind.js';
import { addDefaultTolerations, admitPod } from './pod-admission.js';
import { keepOtherThanWritten, validatePodUpdate } from './pod-update.js';
import { hasDefaultAccount } from './service-account.js';

export const podKind = served({
  resource: resources.pods,
  singular: 'pod',
  shortNames: ['po'],
  categories: ['all'],
  subresources: ['status', 'ephemeralcontainers', 'resize'],
  countsGenerations: true,
  isReadyToCreate: (pod, namespace, facts) => hasDefaultAccount(pod, namespace ?? '', facts),
  defaults: (pod) => {
    pod.spec ??= { containers: [] };
    pod.spec.containers ??= [];
    applyPodDefaults(pod);
  },
  admit: admitPod,
  keep,
  validate,
  validateUpdate: validatePodUpdate,
  deletion: (pod, { gracePeriodSeconds }, nowMs) =>
    decideDeletion({ resource: resources.pods, object: pod, gracePeriodSeconds, nowMs }),
});

function keep(next: Pod, current: Pod, subresource: ObjectSubresource | undefined): void {
  keepOtherThanWritten(next, current, subresource);
  if (subresource === undefined) addDefaultTolerations(next);
  if (subresource === 'status') next.status = keptStatus(next.status ?? {}, current.status ?? {});
}

/** The class of service is decided once; the first address is told under both of its names. */
function keptStatus(next: PodStatus, current: PodStatus): PodStatus {
  const { qosClass = current.qosClass, podIP, podIPs, hostIP, hostIPs, ...rest } = next;
  const [first] = podIPs ?? [];
  const ip = podIP || first?.ip;
  const [firstHost] = hostIPs ?? [];
  const hostAddress = hostIP || firstHost?.ip;
  return {
    ...rest,
    ...(hostAddress === undefined ? {} : { hostIP: hostAddress }),
    ...(hostIPs === undefined ? {} : { hostIPs }),
    ...(ip === undefined ? {} : { podIP: ip, podIPs: podIPs ?? [{ ip }] }),
    ...(qosClass === undefined ? {} : { qosClass }),
  };
}

/** Ephemeral containers are judged where they are added. */
function validate(pod: Pod, current: Pod | undefined): readonly FieldError[] {
  if (current === undefined) return validatePod(pod);
  const { ephemeralContainers, ...spec } = pod.spec;
  return validatePod({ ...pod, spec });
}
