/** Decides what a probe worker does next, from what it knows and what is reported of its pod. */
import {
  type Container,
  type ContainerStateTerminated,
  type ContainerStatus,
  isContainerRestartable,
  isSidecar,
  isTerminalPhase,
  type Pod,
  type PodStatus,
  type ProbeResult,
  parseTimestamp,
  requestsRestartOfAll,
  runtimeContainerId,
} from '../kube/index.js';
import type { ProbeKind, ProbeSettings } from './contracts.js';

/** Containers that started this long before the agent were running before its restart. */
const restartMarginMs = 10_000;

/** The constant facts of a worker. */
export interface WorkerFacts {
  readonly kind: ProbeKind;
  /** The pod as it was when the worker was created; the worker ignores later edits of the probe. */
  readonly pod: Pod;
  readonly container: Container;
  readonly settings: ProbeSettings;
  /** Wall-clock milliseconds at which probing began; undefined if an agent restart makes no difference. */
  readonly probingSinceMs: number | undefined;
}

export interface WorkerState {
  /** The runtime's id of the probed instance; empty before the first. */
  readonly containerId: string;
  /** Pauses probing until there is a new instance. */
  readonly onHold: boolean;
  readonly lastResult: ProbeResult | undefined;
  /** How many times in a row this result occurred. */
  readonly run: number;
  /** By the clock that nobody sets: when the instance was first seen to run. */
  readonly seenRunningMs?: number;
}

/** What the time is, on the wall and by the clock that nobody sets. */
export interface ProbeMoment {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

export const initialState: WorkerState = { containerId: '', onHold: false, lastResult: undefined, run: 0 };

/** A result for the worker's container. */
export interface StoredResult {
  readonly result: ProbeResult;
  readonly because: string;
}

export interface ProbeStep {
  readonly next: 'wait' | 'probe' | 'exit';
  readonly state: WorkerState;
  /** The instance whose result no longer counts. */
  readonly forget?: string;
  /** Stored before anything else happens. */
  readonly store?: StoredResult;
}

const initialResults: Readonly<Record<ProbeKind, ProbeResult>> = {
  readiness: 'failure',
  liveness: 'success',
  startup: 'unknown',
};

export function nextStep(
  facts: WorkerFacts,
  state: WorkerState,
  status: PodStatus | undefined,
  now: ProbeMoment,
): ProbeStep {
  if (status === undefined) return { next: 'wait', state };
  if (isTerminalPhase(status.phase)) return { next: 'exit', state };
  const { kind, pod, container, settings } = facts;
  const seen = findContainer(status, container.name);
  if (seen === undefined) return { next: 'wait', state };

  const met = meet(facts, state, seen, now);
  const step = (next: ProbeStep['next'], store = met.store): ProbeStep =>
    store === undefined ? { ...met, next } : { ...met, next, store };
  if (met.state.onHold) return step('wait');

  const running = seen.state?.running;
  if (running === undefined) {
    const next = isFinished(facts, seen.state?.terminated, status) ? 'exit' : 'wait';
    return step(next, { result: 'failure', because: 'the container is not running' });
  }
  if (pod.metadata.deletionTimestamp !== undefined && kind !== 'readiness') {
    return step('exit', { result: 'success', because: 'the pod is being deleted' });
  }
  const { seenRunningMs = now.monotonicMs } = met.state;
  // A wall clock that was set back says that it starts in an hour, but it runs at least since it was seen to.
  const runsForMs = Math.max(now.wallMs - (timeOf(running.startedAt) ?? 0), now.monotonicMs - seenRunningMs);
  if (Math.trunc(runsForMs / 1000) < settings.initialDelaySeconds) return step('wait');
  // A startup probe runs until it succeeds; the others run only after it has.
  if ((kind === 'startup') === (seen.started === true)) return step('wait');
  return step('probe');
}

/** Notes a new instance of the container and drops what was known of the old one. */
function meet(
  facts: WorkerFacts,
  state: WorkerState,
  seen: ContainerStatus,
  { monotonicMs }: ProbeMoment,
): Omit<ProbeStep, 'next'> {
  const containerId = runtimeContainerId(seen.containerID ?? '');
  const isNew = containerId !== state.containerId;
  const firstRunning = isNew ? undefined : state.seenRunningMs;
  const seenRunningMs = seen.state?.running === undefined ? firstRunning : (firstRunning ?? monotonicMs);
  if (!isNew) return { state: seenRunningMs === state.seenRunningMs ? state : { ...state, seenRunningMs } };
  const initial = initialResult(facts, seen);
  return {
    state: { ...state, containerId, onHold: false, seenRunningMs },
    ...(state.containerId === '' ? {} : { forget: state.containerId }),
    ...(initial === undefined ? {} : { store: initial }),
  };
}

/** The result before the first run. Nothing is assumed of containers that ran before the agent restarted. */
function initialResult(
  { kind, container, probingSinceMs }: WorkerFacts,
  seen: ContainerStatus,
): StoredResult | undefined {
  const startedAtMs = timeOf(seen.state?.running?.startedAt);
  const ranBefore =
    probingSinceMs !== undefined &&
    startedAtMs !== undefined &&
    startedAtMs < probingSinceMs - restartMarginMs;
  if (!ranBefore) return { result: initialResults[kind], because: 'the container is new' };
  if (kind === 'startup' && isSidecar(container) && seen.started === true) {
    return { result: 'success', because: 'it had started before the agent did' };
  }
  return undefined;
}

/** Whether the container has terminated for good. */
export function isFinished(
  { pod, container }: Pick<WorkerFacts, 'pod' | 'container'>,
  ended: ContainerStateTerminated | undefined,
  status: PodStatus,
): boolean {
  if (ended === undefined) return false;
  if (ended.reason === 'RestartingAllContainers') return false;
  return !isContainerRestartable(pod, container, ended.exitCode) && !isRestartingAll(pod, status);
}

function isRestartingAll(pod: Pod, status: PodStatus): boolean {
  const says = status.conditions?.some(
    ({ type, status: value }) => type === 'AllContainersRestarting' && value === 'True',
  );
  if (says) return true;
  return [...(pod.spec.initContainers ?? []), ...pod.spec.containers].some((container) => {
    const exitCode = findContainer(status, container.name)?.state?.terminated?.exitCode;
    return exitCode !== undefined && requestsRestartOfAll(container, exitCode);
  });
}

/** The status of a container that has an instance; regular containers first. */
export function findContainer(status: PodStatus, name: string): ContainerStatus | undefined {
  const isIt = (container: ContainerStatus): boolean =>
    container.name === name && container.containerID !== undefined && container.containerID !== '';
  return status.containerStatuses?.find(isIt) ?? status.initContainerStatuses?.find(isIt);
}

export interface TakenResult {
  readonly state: WorkerState;
  /** Set once the threshold is reached. */
  readonly store?: ProbeResult;
}

/** Counts a result towards its threshold. */
export function takeResult(
  { kind, settings }: Pick<WorkerFacts, 'kind' | 'settings'>,
  state: WorkerState,
  result: 'success' | 'failure',
): TakenResult {
  const run = state.lastResult === result ? state.run + 1 : 1;
  const counted: WorkerState = { ...state, lastResult: result, run };
  const threshold = result === 'failure' ? settings.failureThreshold : settings.successThreshold;
  if (run < threshold) return { state: counted };
  // Probing stops for a container that will be restarted and for one that has started.
  const settles = kind === 'startup' || (kind === 'liveness' && result === 'failure');
  return { state: settles ? { ...counted, onHold: true, run: 0 } : counted, store: result };
}

function timeOf(timestamp: string | null | undefined): number | undefined {
  return timestamp ? parseTimestamp(timestamp) : undefined;
}
