/** Decides a pod's phase from the states of its containers. */
import {
  type Container,
  type ContainerStatus,
  isSidecar,
  isStaticPod,
  type Pod,
  type PodPhase,
} from '../../kube/index.js';
import { isRestartable, stateKind } from './restartable.js';

export interface PhaseInput {
  readonly pod: Pod;
  /** Statuses of init and regular containers. */
  readonly statuses: readonly ContainerStatus[];
  /** No container of the pod will be started any more. */
  readonly podIsTerminal: boolean;
  /** A regular container exists in the pod's current sandbox. */
  readonly isInitialized: boolean;
}

export function podPhase({ pod, statuses, podIsTerminal, isInitialized }: PhaseInput): PodPhase {
  const byName = new Map(statuses.map((status) => [status.name, status]));
  const counts = newCounts();
  for (const container of pod.spec.initContainers ?? []) {
    const status = byName.get(container.name);
    if (isSidecar(container)) countSidecar(counts, status);
    else countInit(counts, pod, container, status);
  }
  for (const container of pod.spec.containers) {
    countRegular(counts, pod, container, byName.get(container.name));
  }

  if (counts.failedInit > 0) return 'Failed';
  const isStarting = counts.pendingInit > 0 || (counts.pendingSidecar > 0 && !isInitialized);
  if (isStarting || counts.waiting > 0 || counts.unknown > 0) return 'Pending';
  if (counts.running > 0) return 'Running';
  if (counts.stopped === 0) return 'Pending';
  const isOver = podIsTerminal && !isStaticPod(pod);
  if (!isOver && counts.stopped !== counts.stoppedForGood) return 'Running';
  return counts.stopped === counts.succeeded ? 'Succeeded' : 'Failed';
}

interface ContainerCounts {
  pendingInit: number;
  failedInit: number;
  pendingSidecar: number;
  running: number;
  waiting: number;
  stopped: number;
  stoppedForGood: number;
  succeeded: number;
  unknown: number;
}

function newCounts(): ContainerCounts {
  return {
    pendingInit: 0,
    failedInit: 0,
    pendingSidecar: 0,
    running: 0,
    waiting: 0,
    stopped: 0,
    stoppedForGood: 0,
    succeeded: 0,
    unknown: 0,
  };
}

function countInit(
  counts: ContainerCounts,
  pod: Pod,
  container: Container,
  status: ContainerStatus | undefined,
): void {
  const kind = stateKind(status?.state);
  const ended =
    kind === 'terminated'
      ? status?.state?.terminated
      : kind === 'waiting'
        ? status?.lastState?.terminated
        : undefined;
  if (ended === undefined) counts.pendingInit += 1;
  else if (ended.exitCode !== 0 && !isRestartable(pod, container, ended)) counts.failedInit += 1;
}

/** Sidecars keep a pod from being started or finished, but never decide how it ended. */
function countSidecar(counts: ContainerCounts, status: ContainerStatus | undefined): void {
  if (status === undefined) {
    counts.unknown += 1;
    return;
  }
  switch (stateKind(status.state)) {
    case 'running':
      counts.running += 1;
      if (status.started !== true) counts.pendingSidecar += 1;
      return;
    case 'terminated':
      return;
    case 'waiting':
      if (status.lastState?.terminated !== undefined) return;
      counts.pendingSidecar += 1;
      counts.waiting += 1;
      return;
    case 'unset':
      counts.pendingSidecar += 1;
      counts.unknown += 1;
      return;
  }
}

function countRegular(
  counts: ContainerCounts,
  pod: Pod,
  container: Container,
  status: ContainerStatus | undefined,
): void {
  switch (stateKind(status?.state)) {
    case 'running':
      counts.running += 1;
      return;
    case 'terminated': {
      const ended = status?.state?.terminated;
      if (ended === undefined) return;
      counts.stopped += 1;
      if (!isRestartable(pod, container, ended)) counts.stoppedForGood += 1;
      if (ended.exitCode === 0) counts.succeeded += 1;
      return;
    }
    case 'waiting': {
      const ended = status?.lastState?.terminated;
      if (ended === undefined) {
        counts.waiting += 1;
        return;
      }
      counts.stopped += 1;
      if (!isRestartable(pod, container, ended)) counts.stoppedForGood += 1;
      return;
    }
    case 'unset':
      counts.unknown += 1;
      return;
  }
}
