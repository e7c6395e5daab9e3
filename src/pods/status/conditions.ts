/** The conditions of a pod: its progress, and what keeps it from being ready. */
import type { ObservedPodStatus } from '../../cri/index.js';
import {
  type ContainerStatus,
  couldRestartAllContainers,
  isSidecar,
  isTerminalPhase,
  type Pod,
  type PodCondition,
  type PodPhase,
  type PodStatus,
} from '../../kube/index.js';
import { findCondition, hasTrueCondition, ownedConditionTypes, withCondition } from './condition-list.js';
import { isRestartingAll } from './restartable.js';
import { sandboxProblem } from './sandbox.js';

type ContainerStatuses = readonly ContainerStatus[] | undefined;

export interface ConditionsInput {
  readonly pod: Pod;
  readonly observed: ObservedPodStatus;
  /** The status manager's status, else the API's. */
  readonly old: PodStatus;
  readonly phase: PodPhase;
  /** Init and regular containers. */
  readonly statuses: readonly ContainerStatus[];
  readonly podIsTerminal: boolean;
  readonly resizeConditions?: readonly PodCondition[] | undefined;
}

export function podConditions(input: ConditionsInput): PodCondition[] {
  const { pod, observed, old, phase, statuses } = input;
  let conditions = (pod.status?.conditions ?? []).filter(({ type }) => !ownedConditionTypes.has(type));
  if (!input.podIsTerminal && !isTerminalPhase(phase)) conditions.push(...(input.resizeConditions ?? []));
  const disruption = findCondition(old.conditions, 'DisruptionTarget');
  if (disruption !== undefined) conditions = withCondition(conditions, disruption);
  conditions.push(
    readyToStartCondition(pod, sandboxProblem(pod, observed)),
    initializedCondition(pod, old, statuses, phase),
  );
  conditions.push(readyCondition(pod, conditions, statuses, phase));
  conditions.push(containersReadyCondition(pod, statuses, phase), condition(pod, 'PodScheduled', true));
  if (couldRestartAllContainers(pod)) conditions.push(allRestartingCondition(pod, observed, old, phase));
  return conditions;
}

/** Whether containers may start; `problem` says what is wrong with the sandbox. */
export function readyToStartCondition(pod: Pod, problem?: string): PodCondition {
  const type = 'PodReadyToStartContainers';
  return problem === undefined
    ? condition(pod, type, true)
    : condition(pod, type, false, 'PodSandboxNotReady', problem);
}

export function initializedCondition(
  pod: Pod,
  old: PodStatus,
  statuses: ContainerStatuses,
  phase: PodPhase | undefined,
): PodCondition {
  const type = 'Initialized';
  const initContainers = pod.spec.initContainers ?? [];
  if (statuses === undefined && initContainers.length > 0) {
    return condition(pod, type, false, 'UnknownContainerStatuses');
  }
  const unknown: string[] = [];
  const incomplete: string[] = [];
  for (const container of initContainers) {
    const status = findStatus(statuses, container.name);
    if (status === undefined) unknown.push(container.name);
    else if (!(isSidecar(container) ? status.started === true : status.ready))
      incomplete.push(container.name);
  }
  if (phase === 'Succeeded' && unknown.length === 0) return condition(pod, type, true, 'PodCompleted');
  if (hasStartedRegularContainer(pod, statuses)) return condition(pod, type, true);
  if (unknown.length === 0 && incomplete.length === 0) return condition(pod, type, true);
  // A pod that restarts its containers in place was initialized once and stays so.
  if (hasTrueCondition(old.conditions, type)) return condition(pod, type, true);
  const message = listed(['unknown', unknown], ['incomplete', incomplete]);
  return condition(pod, type, false, 'ContainersNotInitialized', message);
}

export function containersReadyCondition(
  pod: Pod,
  statuses: ContainerStatuses,
  phase: PodPhase | undefined,
): PodCondition {
  const type = 'ContainersReady';
  if (statuses === undefined) return condition(pod, type, false, 'UnknownContainerStatuses');
  const unknown: string[] = [];
  const unready: string[] = [];
  for (const { name } of [...(pod.spec.initContainers ?? []).filter(isSidecar), ...pod.spec.containers]) {
    const status = findStatus(statuses, name);
    if (status === undefined) unknown.push(name);
    else if (!status.ready) unready.push(name);
  }
  if (phase === 'Failed' || (phase === 'Succeeded' && unknown.length === 0)) {
    return endedCondition(pod, type, phase);
  }
  if (unknown.length === 0 && unready.length === 0) return condition(pod, type, true);
  return condition(
    pod,
    type,
    false,
    'ContainersNotReady',
    listed(['unknown', unknown], ['unready', unready]),
  );
}

/** Ready: all containers are ready, and every readiness gate is true. */
export function readyCondition(
  pod: Pod,
  conditions: readonly PodCondition[] | undefined,
  statuses: ContainerStatuses,
  phase: PodPhase | undefined,
): PodCondition {
  const containersReady = containersReadyCondition(pod, statuses, phase);
  if (containersReady.status !== 'True') return { ...containersReady, type: 'Ready' };
  const blocks: string[] = [];
  for (const { conditionType } of pod.spec.readinessGates ?? []) {
    const gate = findCondition(conditions, conditionType);
    const quoted = JSON.stringify(conditionType);
    if (gate === undefined) {
      blocks.push(`corresponding condition of pod readiness gate ${quoted} does not exist.`);
    } else if (gate.status !== 'True') {
      blocks.push(`the status of pod readiness gate ${quoted} is not "True", but ${gate.status}`);
    }
  }
  if (blocks.length === 0) return condition(pod, 'Ready', true);
  return condition(pod, 'Ready', false, 'ReadinessGatesNotReady', blocks.join(', '));
}

/** Ready or ContainersReady of an ended pod. */
export function endedCondition(pod: Pod, type: string, phase: 'Succeeded' | 'Failed'): PodCondition {
  return condition(pod, type, false, phase === 'Failed' ? 'PodFailed' : 'PodCompleted');
}

/** Whether others changed the pod's status so that its Ready condition in the API is stale. */
export function needsReadinessReconcile(pod: Pod): boolean {
  if ((pod.spec.readinessGates ?? []).length === 0) return false;
  const current = findCondition(pod.status?.conditions, 'Ready');
  if (current === undefined) return false;
  const { conditions, containerStatuses, phase } = pod.status ?? {};
  const wanted = readyCondition(pod, conditions, containerStatuses, phase);
  return wanted.status !== current.status || (wanted.message ?? '') !== (current.message ?? '');
}

function allRestartingCondition(
  pod: Pod,
  observed: ObservedPodStatus,
  old: PodStatus,
  phase: PodPhase,
): PodCondition {
  const type = 'AllContainersRestarting';
  const base = { type, lastProbeTime: null, lastTransitionTime: null };
  if (phase === 'Succeeded') return { ...base, status: 'False', reason: 'PodCompleted' };
  if (phase === 'Failed') return { ...base, status: 'False', reason: 'PodFailed' };
  const names = new Set([...(pod.spec.initContainers ?? []), ...pod.spec.containers].map(({ name }) => name));
  const isSomeLeft = observed.containers.some(({ name }) => names.has(name));
  if (!isSomeLeft || !isRestartingAll(pod, observed, old)) return { ...base, status: 'False' };
  return {
    ...base,
    status: 'True',
    reason: 'RestartAllContainersStarted',
    message: 'container exited with restart policy rule',
  };
}

function condition(pod: Pod, type: string, isTrue: boolean, reason?: string, message?: string): PodCondition {
  const { generation } = pod.metadata;
  return {
    type,
    status: isTrue ? 'True' : 'False',
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    lastProbeTime: null,
    lastTransitionTime: null,
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message }),
  };
}

function hasStartedRegularContainer(pod: Pod, statuses: ContainerStatuses): boolean {
  return pod.spec.containers.some(({ name }) => {
    const state = findStatus(statuses, name)?.state;
    return state?.running !== undefined || state?.terminated !== undefined;
  });
}

function findStatus(statuses: ContainerStatuses, name: string): ContainerStatus | undefined {
  return statuses?.find((status) => status.name === name);
}

/** `containers with unknown status: [a b], …`, omitting empty lists. */
function listed(...lists: readonly (readonly [string, readonly string[]])[]): string {
  return lists
    .filter(([, names]) => names.length > 0)
    .map(([kind, names]) => `containers with ${kind} status: [${names.join(' ')}]`)
    .join(', ');
}
