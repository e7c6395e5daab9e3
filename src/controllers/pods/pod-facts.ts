/** What controllers ask of a pod: whether it counts, is ready, and has been for long enough. */
import type { Pod, PodCondition } from '../../kube/index.js';

export function isFinished({ status }: Pod): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed';
}

/** Neither ended nor on its way out. */
export function isActive(pod: Pod): boolean {
  return !isFinished(pod) && pod.metadata.deletionTimestamp === undefined;
}

export function conditionOf({ status }: Pod, type: string): PodCondition | undefined {
  return status?.conditions?.find((condition) => condition.type === type);
}

export function isReady(pod: Pod): boolean {
  return conditionOf(pod, 'Ready')?.status === 'True';
}

/** When the pod became ready; undefined while it is not, or when nobody wrote the time down. */
export function readySinceMs(pod: Pod): number | undefined {
  const ready = conditionOf(pod, 'Ready');
  return ready?.status === 'True' ? timeMs(ready.lastTransitionTime) : undefined;
}

/** Ready for the given time. */
export function isAvailable(pod: Pod, minReadySeconds: number, nowMs: number): boolean {
  if (!isReady(pod)) return false;
  if (minReadySeconds <= 0) return true;
  const sinceMs = readySinceMs(pod);
  return sinceMs !== undefined && sinceMs + minReadySeconds * 1000 <= nowMs;
}

/** How long until the first of the ready pods that are not available becomes so; undefined when none waits. */
export function untilAvailableMs(
  pods: readonly Pod[],
  minReadySeconds: number,
  nowMs: number,
): number | undefined {
  const waits = pods
    .filter((pod) => isReady(pod) && !isAvailable(pod, minReadySeconds, nowMs))
    .map((pod) => (readySinceMs(pod) ?? nowMs) + minReadySeconds * 1000 - nowMs);
  return waits.length === 0 ? undefined : Math.max(1, Math.min(...waits));
}

/** The restarts of the container that restarted most. */
export function mostRestarts({ status }: Pod): number {
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return statuses.reduce((most, { restartCount }) => Math.max(most, restartCount), 0);
}

/** The instant of a timestamp; undefined for none, and for a text that is no time. */
export function timeMs(timestamp: string | null | undefined): number | undefined {
  const ms = timestamp === undefined || timestamp === null ? Number.NaN : Date.parse(timestamp);
  return Number.isNaN(ms) ? undefined : ms;
}

/** For orders by age: objects without a time are the newest. */
export function createdMs({ metadata }: { metadata: { creationTimestamp?: string } }): number {
  return timeMs(metadata.creationTimestamp) ?? Number.MAX_SAFE_INTEGER;
}
