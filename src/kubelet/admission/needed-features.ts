/** Refuses pods that need a feature which this node does not declare, instead of running them without it. */
import { type Pod, podContainers } from '../../kube/index.js';
import { type AdmissionRule, admitted } from './admission.js';

/** The features that a pod needs of its node, by the names under which nodes declare them. */
export function neededNodeFeatures(pod: Pod): string[] {
  const { spec } = pod;
  const containers = [...podContainers(pod)].map(({ container }) => container);
  const restartsAll = containers.some(({ restartPolicyRules = [] }) =>
    restartPolicyRules.some(({ action }) => action === 'RestartAllContainers'),
  );
  const hasMountOptions = containers.some(({ volumeMounts = [] }) =>
    volumeMounts.some(({ bindMountOptions = [] }) => bindMountOptions.length > 0),
  );
  return [
    ...(restartsAll ? ['RestartAllContainersOnContainerExits'] : []),
    ...(spec.hostNetwork === true && spec.hostUsers === false ? ['UserNamespacesHostNetworkSupport'] : []),
    ...(hasMountOptions ? ['VolumeBindMountOptions'] : []),
  ];
}

/** `declared` is asked at every pod: the runtime tells some of it after the start. */
export function declaredNodeFeatures(declared: () => readonly string[]): AdmissionRule {
  return {
    name: 'declared features',
    admit({ pod }) {
      const needed = neededNodeFeatures(pod);
      if (needed.length === 0) return admitted;
      const available = declared();
      const missing = needed.filter((feature) => !available.includes(feature));
      if (missing.length === 0) return admitted;
      return {
        admit: false,
        reason: 'PodFeatureUnsupported',
        message: `Pod requires node features that are not available: ${missing.join(', ')}`,
      };
    },
  };
}
