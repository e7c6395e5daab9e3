/** Decides whether a probe failed because this agent was late, not its container. */

/** How one attempt went. */
export interface AttemptTimes {
  readonly timeoutMs: number;
  readonly tookMs: number;
  /** How long the agent was busy with other work meanwhile, and could not look at the response. */
  readonly busyMs: number;
}

/** A timer fires this late on a loaded machine that works well. */
const usualLatenessMs = 50;

/**
 * A failure within the timeout is the container's. One at the timeout is ours if the timer itself was late, or if
 * we were busy for half of the time: the response may have lain there unread.
 */
export function isOwnDelay({ timeoutMs, tookMs, busyMs }: AttemptTimes): boolean {
  if (tookMs < timeoutMs) return false;
  const lateMs = tookMs - timeoutMs;
  return lateMs > Math.max(usualLatenessMs, timeoutMs / 10) || busyMs > timeoutMs / 2;
}
