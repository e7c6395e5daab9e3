/** Holds back containers that keep ending: asks and advances the back-off of one container. */
import { createHash } from 'node:crypto';
import type { Backoff, BackoffOptions } from '../../async/index.js';
import type { ObservedPodStatus } from '../../cri/index.js';
import { canonicalJson, formatDuration, formatPod, type Pod } from '../../kube/index.js';
import { type AnyContainer, SyncFailure } from '../contracts.js';

/** How long an entry lives after its last start, whatever its delay. */
const resetAfterMs = 600_000;

export interface CrashLoopSettings {
  /** The configured maximum; without one that of the chosen delays holds. */
  readonly maxMs?: number | undefined;
  /** Whether the back-off begins low and stays low. */
  readonly reduced?: boolean;
}

/** The delays of the back-off; a maximum below the first delay is the first delay. */
export function crashLoopDelays({ maxMs, reduced = false }: CrashLoopSettings = {}): BackoffOptions {
  const delays = reduced ? { initialMs: 1_000, maxMs: 60_000 } : { initialMs: 10_000, maxMs: 300_000 };
  const limitMs = maxMs ?? delays.maxMs;
  return { initialMs: Math.min(delays.initialMs, limitMs), maxMs: limitMs, resetAfterMs };
}

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

export type CrashLoopVerdict =
  /** The failure to report while the container has to wait. */
  | { readonly kind: 'wait'; readonly failure: SyncFailure }
  /** It may start; `attempted` sets the next delay, counted from when it was asked. */
  | { readonly kind: 'start'; readonly attempted: () => void };

const free: CrashLoopVerdict = { kind: 'start', attempted: () => {} };

export function checkCrashLoop(
  backoff: Backoff,
  { pod, container, status, nowMs }: CrashLoopCheck,
): CrashLoopVerdict {
  const exitMs = lastExitMs(status, container.name);
  if (exitMs === undefined) return free;
  const key = crashLoopKey(pod, container);
  if (!backoff.isWaiting(key, exitMs, nowMs)) {
    return { kind: 'start', attempted: () => backoff.advance(key, exitMs, nowMs) };
  }
  const delayMs = backoff.delayMs(key);
  const failure = new SyncFailure(
    'CrashLoopBackOff',
    `back-off ${formatDuration(delayMs)} restarting failed container=${container.name} pod=${formatPod(pod)}`,
    { backoffUntilMs: exitMs + delayMs },
  );
  return { kind: 'wait', failure };
}
