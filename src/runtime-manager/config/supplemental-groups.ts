/** The groups that the processes of a pod have beside their own. */
import { SupplementalGroupsPolicy } from '../../cri/index.js';
import type { Pod } from '../../kube/index.js';

export function supplementalGroupsPolicy(pod: Pod): SupplementalGroupsPolicy {
  const policy = pod.spec.securityContext?.supplementalGroupsPolicy;
  switch (policy) {
    case undefined:
    case 'Merge':
      return SupplementalGroupsPolicy.Merge;
    case 'Strict':
      return SupplementalGroupsPolicy.Strict;
    default:
      throw new Error(`unsupported supplementalGroupsPolicy: ${policy}; use Merge or Strict`);
  }
}

/** `volumeGroups` are the groups that persistent volumes ask for. */
export function sandboxGroups(pod: Pod, volumeGroups: readonly number[]): number[] {
  const { fsGroup, supplementalGroups = [] } = pod.spec.securityContext ?? {};
  return [...(fsGroup === undefined ? [] : [fsGroup]), ...volumeGroups, ...supplementalGroups];
}

/** As those of the sandbox, with the groups of volumes at the end. */
export function containerGroups(pod: Pod, volumeGroups: readonly number[]): number[] {
  return [...sandboxGroups(pod, []), ...volumeGroups];
}
