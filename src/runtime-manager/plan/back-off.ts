/** Decides which planned starts wait for the end of their crash-loop back-off. */
import { createHash } from 'node:crypto';
import type { Backoff } from '../../async/index.js';
import { newestContainer, type ObservedPodStatus } from '../../cri/index.js';
import { type AnyContainer, canonicalJson, formatDuration, formatPod, type Pod } from '../../kube/index.js';
import type { PlannedStart, PlannedWait, PodPlan } from './pod-plan.js';

/** The read-only view of the back-off. */
export type BackOffView = Pick<Backoff, 'waiting'>;

export interface BackOffInput {
  readonly pod: Pod;
  readonly status: ObservedPodStatus;
  /** Wall-clock milliseconds, as in the exit times of containers. */
  readonly nowMs: number;
  readonly backOff: BackOffView;
}

/** The key of a container's back-off. When a part of it changes, the container starts at once. */
export function crashLoopKey(pod: Pod, container: AnyContainer): string {
  const { name, namespace, uid } = pod.metadata;
  const parts = [name, namespace, uid, container.name, container.image ?? '', container.resources ?? {}];
  return createHash('sha256').update(canonicalJson(parts)).digest('base64url');
}

/** When the newest exited instance ended, in wall-clock milliseconds; undefined when none has exited. */
export function lastExitMs(status: ObservedPodStatus, containerName: string): number | undefined {
  const exited = status.containers.find(
    (container) => container.name === containerName && container.state === 'exited',
  );
  return exited === undefined ? undefined : Number(exited.finishedAtNs / 1_000_000n);
}

/** Undefined when the container may start. */
export function crashLoopWait(
  { pod, status, nowMs, backOff }: BackOffInput,
  container: AnyContainer,
): Pick<PlannedWait, 'untilMs' | 'message'> | undefined {
  const exitMs = lastExitMs(status, container.name);
  if (exitMs === undefined) return undefined;
  const wait = backOff.waiting(crashLoopKey(pod, container), exitMs, nowMs);
  if (wait === undefined) return undefined;
  const delay = formatDuration(wait.delayMs);
  return {
    untilMs: wait.untilMs,
    message: `back-off ${delay} restarting failed container=${container.name} pod=${formatPod(pod)}`,
  };
}

/** Turns the starts of containers in back-off into waits. Ephemeral containers start once and never wait. */
export function withBackOff(plan: PodPlan, input: BackOffInput): PodPlan {
  const { spec } = input.pod;
  const waiting: PlannedWait[] = [];
  const startsNow = (
    kind: PlannedWait['kind'],
    containers: readonly AnyContainer[],
    starts: readonly PlannedStart[],
  ): readonly PlannedStart[] =>
    starts.filter((start) => {
      const container = containers[start.index];
      if (container === undefined || endsWithItsSandbox(plan, input.status, start.name)) return true;
      const wait = crashLoopWait(input, container);
      if (wait !== undefined) waiting.push({ kind, ...start, ...wait });
      return wait === undefined;
    });
  const initContainersToStart = startsNow(
    'initContainer',
    spec.initContainers ?? [],
    plan.initContainersToStart,
  );
  const containersToStart = startsNow('container', spec.containers, plan.containersToStart);
  return waiting.length === 0 ? plan : { ...plan, initContainersToStart, containersToStart, waiting };
}

/** Whether the container still runs and ends only because its sandbox is replaced. */
function endsWithItsSandbox(plan: PodPlan, status: ObservedPodStatus, name: string): boolean {
  return plan.createSandbox !== undefined && newestContainer(status, name)?.state === 'running';
}
