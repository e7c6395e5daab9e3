/** Merges a pod's status with the API's copy, and decides when the pod may be deleted there. */
import {
  formatTimestamp,
  isMirrorPod,
  isTerminalPhase,
  type Pod,
  type PodCondition,
  type PodStatus,
} from '../../kube/index.js';
import { findCondition, hasTrueCondition, ownedConditionTypes, withCondition } from './condition-list.js';
import { endedCondition } from './conditions.js';
import { foreignFields } from './equal.js';

export interface MergeInput {
  /** The object as the API has it. */
  readonly apiPod: Pod;
  readonly ours: PodStatus;
  /** While containers could run, the API must not show the pod as ended. */
  readonly couldHaveRunningContainers: boolean;
  readonly nowMs: number;
}

/** Our status, with the fields of other owners from the API. */
export function mergeForApi({ apiPod, ours, couldHaveRunningContainers, nowMs }: MergeInput): PodStatus {
  const api: PodStatus = apiPod.status ?? {};
  const isEnding = !isTerminalPhase(api.phase) && isTerminalPhase(ours.phase);
  let conditions: PodCondition[] = (api.conditions ?? []).filter(
    ({ type }) => !ownedConditionTypes.has(type),
  );
  conditions.push(...(ours.conditions ?? []).filter(({ type }) => ownedConditionTypes.has(type)));
  const disruption = findCondition(ours.conditions, 'DisruptionTarget');
  if (disruption !== undefined && isEnding && !couldHaveRunningContainers) {
    conditions = withCondition(conditions, { ...disruption, lastTransitionTime: formatTimestamp(nowMs) });
  }

  const isHeldBack = isEnding && couldHaveRunningContainers;
  const told = isHeldBack ? api : ours;
  const { phase: _phase, reason: _reason, message: _message, ...rest } = withForeignFields(ours, api);
  const { phase, reason, message } = told;
  return {
    ...rest,
    ...(phase === undefined ? {} : { phase }),
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message }),
    conditions: withoutReadiness(apiPod, conditions, phase, nowMs),
  };
}

/** An ended pod is not ready, whatever its containers were when last observed. */
function withoutReadiness(
  pod: Pod,
  conditions: PodCondition[],
  phase: PodStatus['phase'],
  nowMs: number,
): PodCondition[] {
  if (phase !== 'Succeeded' && phase !== 'Failed') return conditions;
  const types = ['ContainersReady', 'Ready'];
  if (!types.some((type) => hasTrueCondition(conditions, type))) return conditions;
  return types.reduce((list, type) => {
    const before = findCondition(list, type);
    const lastTransitionTime =
      before?.status === 'False' ? before.lastTransitionTime : formatTimestamp(nowMs);
    return withCondition(list, { ...endedCondition(pod, type, phase), lastTransitionTime });
  }, conditions);
}

function withForeignFields(ours: PodStatus, api: PodStatus): PodStatus {
  const isForeign = ([field]: [string, unknown]): boolean => foreignFields.includes(field);
  return Object.fromEntries([
    ...Object.entries(ours).filter((entry) => !isForeign(entry)),
    ...Object.entries(api).filter(isForeign),
  ]);
}

/**
 * Whether the API object can be deleted: deletion was requested, it shows the pod as ended, and nothing of it
 * is left on the node.
 */
export function canBeDeletedFromApi(apiPod: Pod, isFinished: boolean): boolean {
  return (
    apiPod.metadata.deletionTimestamp !== undefined &&
    !isMirrorPod(apiPod) &&
    isTerminalPhase(apiPod.status?.phase) &&
    isFinished
  );
}
