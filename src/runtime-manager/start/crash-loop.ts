/** The delays of the crash-loop back-off, and the attempts that make them grow. */
import type { Backoff, BackoffOptions } from '../../async/index.js';
import type { AnyContainer } from '../../kube/index.js';
import { type BackOffInput, crashLoopKey, lastExitMs } from '../plan/back-off.js';

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

/**
 * Begins an attempt to start the container. The result, called once the attempt was made, sets the next delay,
 * counted from the beginning. First starts do not count, nor does one that the plan excused from its back-off.
 */
export function beginAttempt(
  crashLoop: Backoff,
  { pod, status, nowMs }: Omit<BackOffInput, 'backOff'>,
  container: AnyContainer,
): () => void {
  const exitMs = lastExitMs(status, container.name);
  if (exitMs === undefined) return () => {};
  const key = crashLoopKey(pod, container);
  if (crashLoop.waiting(key, exitMs, nowMs) !== undefined) return () => {};
  return () => crashLoop.advance(key, exitMs, nowMs);
}
