/** Computes the row of a pod in a table, with the texts of `kubectl get pods`. */
import {
  type Container,
  type ContainerStatus,
  configSeenAnnotation,
  isTerminalPhase,
  type Pod,
  type PodStatus,
} from '../index.js';
import { formatAge } from '../values/age.js';

export interface PodRow {
  readonly namespace: string;
  readonly name: string;
  /** Ready containers and sidecars of all: `1/2`. */
  readonly ready: string;
  /** `Running`, `Init:0/1`, `CrashLoopBackOff`, `Completed`, `Terminating` … */
  readonly status: string;
  /** `3 (12s ago)` */
  readonly restarts: string;
  readonly restartCount: number;
  readonly age: string;
}

export function podRow(pod: Pod, nowMs: number): PodRow {
  const init = initProgress(pod);
  const counted = init.status === undefined || isInitialized(pod.status) ? containerProgress(pod) : undefined;
  const progress = {
    status: counted?.status ?? init.status ?? (pod.status?.reason || pod.status?.phase || 'Pending'),
    ready: init.ready + (counted?.ready ?? 0),
    restarts: counted === undefined ? init.restarts : addRestarts(init.restartableRestarts, counted.restarts),
  };
  const sidecars = (pod.spec.initContainers ?? []).filter(isSidecar).length;
  const { count, lastMs } = progress.restarts;
  const createdMs = createdAtMs(pod);
  return {
    namespace: pod.metadata.namespace,
    name: pod.metadata.name,
    ready: `${progress.ready}/${pod.spec.containers.length + sidecars}`,
    status: deletionStatus(pod) ?? progress.status,
    restarts: count === 0 || lastMs === 0 ? String(count) : `${count} (${formatAge(nowMs - lastMs)} ago)`,
    restartCount: count,
    age: createdMs === undefined ? '<unknown>' : formatAge(nowMs - createdMs),
  };
}

interface Restarts {
  readonly count: number;
  /** When the previous instance ended; 0 without one. */
  readonly lastMs: number;
}

const noRestarts: Restarts = { count: 0, lastMs: 0 };

function addRestarts(a: Restarts, b: Restarts): Restarts {
  return { count: a.count + b.count, lastMs: Math.max(a.lastMs, b.lastMs) };
}

function restartsOf({ restartCount, lastState }: ContainerStatus): Restarts {
  const ended = Date.parse(lastState?.terminated?.finishedAt ?? '');
  return { count: restartCount, lastMs: Number.isNaN(ended) ? 0 : ended };
}

interface InitProgress {
  /** Undefined when all init containers are done. */
  readonly status: string | undefined;
  /** Sidecars that are ready. */
  readonly ready: number;
  readonly restarts: Restarts;
  readonly restartableRestarts: Restarts;
}

function initProgress({ spec, status }: Pod): InitProgress {
  const containers = spec.initContainers ?? [];
  let ready = 0;
  let restarts = noRestarts;
  let restartableRestarts = noRestarts;
  for (const [index, one] of (status?.initContainerStatuses ?? []).entries()) {
    const sidecar = containers.some((container) => container.name === one.name && isSidecar(container));
    restarts = addRestarts(restarts, restartsOf(one));
    if (sidecar) restartableRestarts = addRestarts(restartableRestarts, restartsOf(one));
    const { terminated, waiting } = one.state ?? {};
    if (terminated?.exitCode === 0) continue;
    if (sidecar && one.started === true) {
      if (one.ready) ready++;
      continue;
    }
    const what =
      terminated !== undefined
        ? endText(terminated)
        : waiting?.reason && waiting.reason !== 'PodInitializing'
          ? waiting.reason
          : `${index}/${containers.length}`;
    return { status: `Init:${what}`, ready, restarts, restartableRestarts };
  }
  return { status: undefined, ready, restarts, restartableRestarts };
}

interface ContainerProgress {
  /** Undefined when the phase says it all. */
  readonly status: string | undefined;
  readonly ready: number;
  readonly restarts: Restarts;
}

function containerProgress({ status }: Pod): ContainerProgress {
  let text: string | undefined;
  let ready = 0;
  let restarts = noRestarts;
  let runs = false;
  // The first container with a reason wins, so go backwards.
  for (const one of [...(status?.containerStatuses ?? [])].reverse()) {
    restarts = addRestarts(restarts, restartsOf(one));
    const { waiting, terminated, running } = one.state ?? {};
    if (waiting?.reason) text = waiting.reason;
    else if (terminated !== undefined) text = endText(terminated);
    else if (one.ready && running !== undefined) {
      runs = true;
      ready++;
    }
  }
  const effective = text ?? (status?.reason || status?.phase);
  if (effective === 'Completed' && runs)
    text = hasCondition(status, 'Ready', 'True') ? 'Running' : 'NotReady';
  return { status: text, ready, restarts };
}

function endText({
  reason,
  signal,
  exitCode,
}: {
  reason?: string;
  signal?: number;
  exitCode: number;
}): string {
  if (reason) return reason;
  return signal ? `Signal:${signal}` : `ExitCode:${exitCode}`;
}

function deletionStatus({ metadata, status }: Pod): string | undefined {
  if (metadata.deletionTimestamp === undefined) return undefined;
  if (status?.reason === 'NodeLost') return 'Unknown';
  return isTerminalPhase(status?.phase) ? undefined : 'Terminating';
}

function isSidecar({ restartPolicy }: Container): boolean {
  return restartPolicy === 'Always';
}

function isInitialized(status: PodStatus | undefined): boolean {
  return hasCondition(status, 'Initialized', 'True');
}

function hasCondition(status: PodStatus | undefined, type: string, value: string): boolean {
  return (status?.conditions ?? []).some(
    (condition) => condition.type === type && condition.status === value,
  );
}

/** Static pods have no creationTimestamp: use the time when the kubelet first saw the pod. */
function createdAtMs({ metadata, status }: Pod): number | undefined {
  const times = [metadata.creationTimestamp, metadata.annotations?.[configSeenAnnotation], status?.startTime];
  return times.map((time) => Date.parse(time ?? '')).find((ms) => !Number.isNaN(ms));
}
