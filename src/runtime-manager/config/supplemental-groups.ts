/** The supplemental groups of a pod's processes. */
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

/** `volumeGroups` are the groups that persistent volumes require. */
export function sandboxGroups(pod: Pod, volumeGroups: readonly number[]): number[] {
  const { fsGroup, supplementalGroups = [] } = pod.spec.securityContext ?? {};
  return [...(fsGroup === undefined ? [] : [fsGroup]), ...volumeGroups, ...supplementalGroups];
}

/** The sandbox's groups, followed by those of volumes. */
export function containerGroups(pod: Pod, volumeGroups: readonly number[]): number[] {
  return [...sandboxGroups(pod, []), ...volumeGroups];
}
