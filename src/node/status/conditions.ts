/** Computes a node's conditions, and which changes become events. */
import { aggregateText } from '../../async/index.js';
import type { ConditionStatus, NodeCondition, ResourceList, Timestamp } from '../../kube/index.js';

export interface NodeEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

export interface ConditionOutcome {
  readonly condition: NodeCondition;
  /** The reason of the event for this change. */
  readonly event: string | undefined;
}

interface PressureTexts {
  readonly type: string;
  readonly onTrue: { readonly reason: string; readonly message: string; readonly event: string };
  readonly onFalse: { readonly reason: string; readonly message: string; readonly event: string };
}

export const memoryPressure: PressureTexts = {
  type: 'MemoryPressure',
  onTrue: {
    reason: 'KubeletHasInsufficientMemory',
    message: 'kubelet has insufficient memory available',
    event: 'NodeHasInsufficientMemory',
  },
  onFalse: {
    reason: 'KubeletHasSufficientMemory',
    message: 'kubelet has sufficient memory available',
    event: 'NodeHasSufficientMemory',
  },
};

export const diskPressure: PressureTexts = {
  type: 'DiskPressure',
  onTrue: {
    reason: 'KubeletHasDiskPressure',
    message: 'kubelet has disk pressure',
    event: 'NodeHasDiskPressure',
  },
  onFalse: {
    reason: 'KubeletHasNoDiskPressure',
    message: 'kubelet has no disk pressure',
    event: 'NodeHasNoDiskPressure',
  },
};

export const pidPressure: PressureTexts = {
  type: 'PIDPressure',
  onTrue: {
    reason: 'KubeletHasInsufficientPID',
    message: 'kubelet has insufficient PID available',
    event: 'NodeHasInsufficientPID',
  },
  onFalse: {
    reason: 'KubeletHasSufficientPID',
    message: 'kubelet has sufficient PID available',
    event: 'NodeHasSufficientPID',
  },
};

export function pressureCondition(
  texts: PressureTexts,
  isUnderPressure: boolean,
  existing: NodeCondition | undefined,
  now: Timestamp,
): ConditionOutcome {
  // A new condition starts as Unknown, so that its first evaluation is a change.
  const before: ConditionStatus = existing?.status ?? 'Unknown';
  const status: ConditionStatus = isUnderPressure ? 'True' : 'False';
  if (existing !== undefined && before === status) {
    return { condition: { ...existing, lastHeartbeatTime: now }, event: undefined };
  }
  const { reason, message, event } = isUnderPressure ? texts.onTrue : texts.onFalse;
  return {
    condition: {
      type: texts.type,
      status,
      lastHeartbeatTime: now,
      lastTransitionTime: now,
      reason,
      message,
    },
    event,
  };
}

export interface ReadinessFacts {
  readonly runtimeErrors: readonly string[];
  readonly networkError: string | undefined;
  readonly storageError: string | undefined;
  readonly shutdownError: string | undefined;
  /** Whether an optional requirement of the container manager is missing, such as CPU quotas. */
  readonly softRequirementFailed: boolean;
}

const softRequirementWarning = 'CPU hardcapping unsupported';

/** Required resources that the node lacks, in the order in which they are named. */
export function missingCapacity(capacity: ResourceList, localStorageCapacityIsolation: boolean): string[] {
  const required = ['cpu', 'memory', 'pods', ...(localStorageCapacityIsolation ? ['ephemeral-storage'] : [])];
  return required.filter((resource) => capacity[resource] === undefined);
}

/** Everything that keeps a node from being ready, in reporting order. */
export function readinessErrors(facts: ReadinessFacts, missing: readonly string[]): string[] {
  const capacityError =
    missing.length === 0 ? undefined : `missing node capacity for resources: ${missing.join(', ')}`;
  return [
    ...facts.runtimeErrors,
    ...[facts.networkError, facts.storageError, facts.shutdownError, capacityError].filter(
      (error) => error !== undefined,
    ),
  ];
}

export function readyCondition(
  errors: readonly string[],
  softRequirementFailed: boolean,
  existing: NodeCondition | undefined,
  now: Timestamp,
): ConditionOutcome {
  const isReady = errors.length === 0;
  const status: ConditionStatus = isReady ? 'True' : 'False';
  const text = isReady ? 'kubelet is posting ready status' : aggregateText(errors);
  const isSame = existing?.status === status;
  return {
    condition: {
      type: 'Ready',
      status,
      lastHeartbeatTime: now,
      lastTransitionTime: isSame ? (existing.lastTransitionTime ?? now) : now,
      reason: isReady ? 'KubeletReady' : 'KubeletNotReady',
      message: softRequirementFailed ? `${text}. WARNING: ${softRequirementWarning}` : text,
    },
    event: existing === undefined || isSame ? undefined : isReady ? 'NodeReady' : 'NodeNotReady',
  };
}

export function statusEvent(nodeName: string, reason: string): NodeEvent {
  return { type: 'Normal', reason, message: `Node ${nodeName} status is now: ${reason}` };
}

/** Replaces the condition in place, or appends a new one. */
export function withCondition(
  conditions: readonly NodeCondition[],
  condition: NodeCondition,
): NodeCondition[] {
  const index = conditions.findIndex(({ type }) => type === condition.type);
  return index < 0 ? [...conditions, condition] : conditions.with(index, condition);
}

export function conditionOf(
  conditions: readonly NodeCondition[] | undefined,
  type: string,
): NodeCondition | undefined {
  return conditions?.find((condition) => condition.type === type);
}
