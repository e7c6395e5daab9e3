/** Compares two statuses, as far as the kubelet owns them. */
import { type PodCondition, type PodStatus, semanticEqual } from '../../kube/index.js';
import { ownedConditionTypes, sharedConditionTypes } from './condition-list.js';

/** Fields that others write, or other parts of the node. */
export const foreignFields: readonly string[] = [
  'resourceClaimStatuses',
  'extendedResourceClaimStatus',
  'nodeAllocatableResourceClaimStatuses',
  'volumeHealth',
];

/** Compares normalised statuses; ignores times of conditions, generations of most, and what others write. */
export function statusEqual(a: PodStatus, b: PodStatus): boolean {
  return conditionsEqual(a.conditions, b.conditions) && semanticEqual(ownFields(a), ownFields(b));
}

function ownFields(status: PodStatus): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(status).filter(([field]) => field !== 'conditions' && !foreignFields.includes(field)),
  );
}

function conditionsEqual(a: readonly PodCondition[] = [], b: readonly PodCondition[] = []): boolean {
  const ours = a.filter(isOurs);
  const theirs = new Map(b.filter(isOurs).map((condition) => [condition.type, condition]));
  if (ours.length !== theirs.size) return false;
  return ours.every((condition) => {
    const other = theirs.get(condition.type);
    return (
      other !== undefined &&
      other.status === condition.status &&
      (other.reason ?? '') === (condition.reason ?? '') &&
      (other.message ?? '') === (condition.message ?? '') &&
      (!isAboutResize(condition) || other.observedGeneration === condition.observedGeneration)
    );
  });
}

/** Which of two specs a resize is about is told by nothing but the generation. */
function isAboutResize({ type }: PodCondition): boolean {
  return type === 'PodResizePending' || type === 'PodResizeInProgress';
}

function isOurs({ type }: PodCondition): boolean {
  return ownedConditionTypes.has(type) || sharedConditionTypes.has(type);
}
