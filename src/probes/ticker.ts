/** Decides when a worker ticks next. */

/**
 * Workers that begin soon after the agent started are spread over part of their period; otherwise all would
 * probe at once.
 */
export function firstDelayMs(periodMs: number, sinceStartMs: number, random: () => number): number {
  return periodMs > sinceStartMs ? random() * periodMs : 0;
}

export interface ProbeTick {
  readonly delayMs: number;
  /** When the following tick is due. */
  readonly followingMs: number;
}

/** Ticks keep their rhythm: one missed tick fires at once, further ones are dropped. */
export function nextTick(dueMs: number, periodMs: number, nowMs: number): ProbeTick {
  if (nowMs < dueMs) return { delayMs: dueMs - nowMs, followingMs: dueMs + periodMs };
  const missed = Math.floor((nowMs - dueMs) / periodMs);
  return { delayMs: 0, followingMs: dueMs + (missed + 1) * periodMs };
}
