/** Holds back containers that keep ending: asks and advances the back-off of one container. */
import { createHash } from 'node:crypto';
import type { Backoff } from '../async/index.js';
import type { ObservedPodStatus } from '../cri/index.js';
import { canonicalJson, formatDuration, formatPod, type Pod } from '../kube/index.js';
import { type AnyContainer, SyncFailure } from './contracts.js';

/** Delays and reset time of the back-off, with the defaults of a node that configures nothing. */
export const crashLoopDefaults = { initialMs: 10_000, maxMs: 300_000, resetAfterMs: 600_000 } as const;

/** A change of anything in here is a new attempt that deserves to start at once. */
export function crashLoopKey(pod: Pod, container: AnyContainer): string {
  const { name, namespace, uid } = pod.metadata;
  const parts = [name, namespace, uid, container.name, container.image ?? '', container.resources ?? {}];
  return createHash('sha256').update(canonicalJson(parts)).digest('base64url');
}

/** When the newest exited instance ended, in wall-clock milliseconds; undefined when none did. */
export function lastExitMs(status: ObservedPodStatus, containerName: string): number | undefined {
  const exited = status.containers.find(
    (container) => container.name === containerName && container.state === 'exited',
  );
  return exited === undefined ? undefined : Number(exited.finishedAtNs / 1_000_000n);
}

export interface CrashLoopCheck {
  readonly pod: Pod;
  readonly container: AnyContainer;
  readonly status: ObservedPodStatus;
  readonly nowMs: number;
}

/** The failure to report while the container has to wait. Otherwise undefined, and the next delay is set. */
export function checkCrashLoop(
  backoff: Backoff,
  { pod, container, status, nowMs }: CrashLoopCheck,
): SyncFailure | undefined {
  const exitMs = lastExitMs(status, container.name);
  if (exitMs === undefined) return undefined;
  const key = crashLoopKey(pod, container);
  if (!backoff.isWaiting(key, exitMs, nowMs)) {
    backoff.advance(key, exitMs, nowMs);
    return undefined;
  }
  const delayMs = backoff.delayMs(key);
  return new SyncFailure(
    'CrashLoopBackOff',
    `back-off ${formatDuration(delayMs)} restarting failed container=${container.name} pod=${formatPod(pod)}`,
    { backoffUntilMs: exitMs + delayMs },
  );
}
