/** Refuses pods with resources of their own on a node that does not know such resources. */
import { hasPodLevelResources } from '../../kube/index.js';
import { type AdmissionRule, admitted } from './admission.js';

/** `isEnabled`: the gate PodLevelResources. */
export function podLevelResources(isEnabled: boolean): AdmissionRule {
  return {
    name: 'pod-level resources',
    admit: ({ pod }) =>
      isEnabled || !hasPodLevelResources(pod.spec.resources)
        ? admitted
        : {
            admit: false,
            reason: 'PodLevelResourcesNotSupported',
            message: 'PodLevelResources feature gate is disabled',
          },
  };
}
