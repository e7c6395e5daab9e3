/** Decides when a worker looks next. */

/**
 * Workers that begin soon after the agent did are spread over a part of their period, or all of them
 * would probe at once.
 */
export function firstDelayMs(periodMs: number, sinceStartMs: number, random: () => number): number {
  return periodMs > sinceStartMs ? random() * periodMs : 0;
}

export interface Tick {
  readonly delayMs: number;
  /** When the tick after this one is due. */
  readonly followingMs: number;
}

/** Ticks keep their beat: one that was missed comes at once, further ones are lost. */
export function nextTick(dueMs: number, periodMs: number, nowMs: number): Tick {
  if (nowMs < dueMs) return { delayMs: dueMs - nowMs, followingMs: dueMs + periodMs };
  const missed = Math.floor((nowMs - dueMs) / periodMs);
  return { delayMs: 0, followingMs: dueMs + (missed + 1) * periodMs };
}
