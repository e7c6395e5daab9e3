/** Lists of pod conditions: who owns which type, and how to find and replace one. */
import type { PodCondition } from '../../kube/index.js';

/** Conditions that only the kubelet writes. */
export const ownedConditionTypes: ReadonlySet<string> = new Set([
  'PodScheduled',
  'Ready',
  'Initialized',
  'ContainersReady',
  'PodResizePending',
  'PodResizeInProgress',
  'PodReadyToStartContainers',
  'AllContainersRestarting',
]);

/** Conditions that the kubelet and others write. */
export const sharedConditionTypes: ReadonlySet<string> = new Set(['DisruptionTarget']);

/** Conditions whose transition time the status manager maintains. */
export const timedConditionTypes: readonly string[] = [
  'ContainersReady',
  'Ready',
  'Initialized',
  'PodReadyToStartContainers',
  'PodScheduled',
  'AllContainersRestarting',
  'DisruptionTarget',
];

type Conditions = readonly PodCondition[] | undefined;

export function findCondition(conditions: Conditions, type: string): PodCondition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

export function hasTrueCondition(conditions: Conditions, type: string): boolean {
  return findCondition(conditions, type)?.status === 'True';
}

/** Replaces the condition of this type, or appends it. */
export function withCondition(conditions: Conditions, condition: PodCondition): PodCondition[] {
  const list = [...(conditions ?? [])];
  const index = list.findIndex(({ type }) => type === condition.type);
  if (index < 0) list.push(condition);
  else list[index] = condition;
  return list;
}
