/** The delays of the crash-loop back-off, and the attempts that increase them. */
import type { Backoff, BackoffOptions } from '../../async/index.js';
import type { AnyContainer } from '../../kube/index.js';
import { type BackOffInput, crashLoopKey, lastExitMs } from '../plan/back-off.js';

/** How long an entry is kept after its last start, for any delay. */
const resetAfterMs = 600_000;

export interface CrashLoopSettings {
  /** The configured maximum. Default: the maximum of the chosen delays. */
  readonly maxMs?: number | undefined;
  /** Whether the delays begin lower and stay lower (ReduceDefaultCrashLoopBackOffDecay). */
  readonly reduced?: boolean;
}

/** A maximum below the first delay becomes the first delay. */
export function crashLoopDelays({ maxMs, reduced = false }: CrashLoopSettings = {}): BackoffOptions {
  const delays = reduced ? { initialMs: 1_000, maxMs: 60_000 } : { initialMs: 10_000, maxMs: 300_000 };
  const limitMs = maxMs ?? delays.maxMs;
  return { initialMs: Math.min(delays.initialMs, limitMs), maxMs: limitMs, resetAfterMs };
}

/**
 * Begins an attempt to start the container. The caller calls the returned function after the attempt, which sets the next
 * delay from the beginning of the attempt. First starts and starts that the plan allowed during a back-off do not count.
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
