/** Derives `started` and `ready` of containers from probe results. */
import {
  type Container,
  type ContainerStatus,
  isSidecar,
  type Pod,
  type ProbeResult,
  parseTimestamp,
  runtimeContainerId,
} from '../../kube/index.js';
import { hasTrueCondition } from './condition-list.js';

/** The probe results of containers, by the runtime's ids. Undefined: no result yet. */
export interface ProbeView {
  startupResult(containerId: string): ProbeResult | undefined;
  readinessResult(containerId: string): ProbeResult | undefined;
  livenessResult(containerId: string): ProbeResult | undefined;
  hasStartupWorker(podUid: string, container: string): boolean;
  hasReadinessWorker(podUid: string, container: string): boolean;
  /** Requests an immediate readiness probe of a container. */
  triggerReadiness?(podUid: string, container: string): void;
  /** Wall-clock milliseconds at which probing began in this run of the agent. */
  readonly startedAtMs?: number;
}

/** Containers that started this long before the agent were running before its restart. */
const restartMarginMs = 10_000;

const noProbes: ProbeView = {
  startupResult: () => undefined,
  readinessResult: () => undefined,
  livenessResult: () => undefined,
  hasStartupWorker: () => false,
  hasReadinessWorker: () => false,
};

/** The statuses of regular containers with `started` and `ready`. */
export function withProbeResults(
  pod: Pod,
  statuses: readonly ContainerStatus[],
  probes: ProbeView = noProbes,
): ContainerStatus[] {
  return statuses.map((status) => {
    const container = pod.spec.containers.find(({ name }) => name === status.name);
    return withStartedAndReady(pod, container, status, probes);
  });
}

/** The statuses of init containers: sidecars are probed, the others are ready once they succeeded. */
export function withInitProbeResults(
  pod: Pod,
  statuses: readonly ContainerStatus[],
  probes: ProbeView = noProbes,
): ContainerStatus[] {
  return statuses.map((status) => {
    const container = pod.spec.initContainers?.find(({ name }) => name === status.name);
    if (container !== undefined && isSidecar(container)) {
      return withStartedAndReady(pod, container, status, probes);
    }
    return {
      ...status,
      started: isStarted(pod, status, probes),
      ready: status.state?.terminated?.exitCode === 0,
    };
  });
}

function withStartedAndReady(
  pod: Pod,
  container: Container | undefined,
  status: ContainerStatus,
  probes: ProbeView,
): ContainerStatus {
  const started = isStarted(pod, status, probes);
  if (!started) return { ...status, started };
  return { ...status, started, ready: isReady(pod, container, status, probes) };
}

function isStarted(pod: Pod, status: ContainerStatus, probes: ProbeView): boolean {
  if (status.state?.running === undefined) return false;
  const result = probes.startupResult(runtimeContainerId(status.containerID ?? ''));
  if (result !== undefined) return result === 'success';
  if (status.started === true) return true;
  return !probes.hasStartupWorker(pod.metadata.uid, status.name);
}

function isReady(
  pod: Pod,
  container: Container | undefined,
  status: ContainerStatus,
  probes: ProbeView,
): boolean {
  const uid = pod.metadata.uid;
  const result = probes.readinessResult(runtimeContainerId(status.containerID ?? ''));
  if (result === 'success') return true;
  const isProbed = probes.hasReadinessWorker(uid, status.name);
  if (isProbed) probes.triggerReadiness?.(uid, status.name);
  if (!ranBefore(status, probes.startedAtMs)) return !isProbed;
  // Across a restart of the agent a ready pod stays ready until its probe really fails.
  const wasReady = hasTrueCondition(pod.status?.conditions, 'Ready');
  if (container?.readinessProbe !== undefined && !wasReady) return false;
  return result === undefined || !isProbed;
}

function ranBefore(status: ContainerStatus, probingSinceMs: number | undefined): boolean {
  const startedAt = status.state?.running?.startedAt;
  if (probingSinceMs === undefined || !startedAt) return false;
  const startedAtMs = parseTimestamp(startedAt);
  return startedAtMs !== undefined && startedAtMs < probingSinceMs - restartMarginMs;
}
