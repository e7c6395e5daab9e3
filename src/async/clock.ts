/** The time port: everything that waits or takes timestamps uses a Clock, so tests control time. */

export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Wall-clock time in milliseconds since the epoch; may jump when the system clock is set. */
  now(): number;
  /** Milliseconds on a clock that never goes back, with sub-millisecond precision; only for ordering and measuring. */
  monotonic(): number;
  /** Calls back once after the delay, never before `monotonic` has passed it. */
  setTimer(delayMs: number, fire: () => void): Timer;
}

/** Thrown by a wait whose signal was aborted. */
export class Cancelled extends Error {
  override readonly name = 'Cancelled';
  constructor(message = 'context canceled', options?: ErrorOptions) {
    super(message, options);
  }
}

/** The reason of an abort because the whole program stops: what is half done is finished first. */
export const programStops = new Cancelled('the program stops');

export function isCancelled(error: unknown): boolean {
  return error instanceof Cancelled;
}

/**
 * Whether the error or one of its causes is a cancellation: our own, or the gRPC status of a cancelled call, which
 * this room knows only by its field.
 */
export function isCausedByCancellation(error: unknown): boolean {
  let current: unknown = error;
  for (let depth = 0; depth < 8 && current instanceof Error; depth++) {
    if (isCancelled(current) || ('codeName' in current && current.codeName === 'Canceled')) return true;
    current = current.cause;
  }
  return false;
}

export function throwIfCancelled(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new Cancelled();
}

/** Resolves after the delay, or rejects with Cancelled when the signal aborts. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(new Cancelled());
      return;
    }
    const onAbort = (): void => {
      timer.cancel();
      reject(new Cancelled());
    };
    const timer = clock.setTimer(delayMs, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** Waits for something that ends by itself; rejects with Cancelled if the signal aborts first. */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  throwIfCancelled(signal);
  let onAbort: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(new Cancelled());
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Thrown when work exceeds its time limit. */
export class TimedOut extends Error {
  override readonly name = 'TimedOut';
}

/**
 * Runs work with a signal that aborts at the limit or with the outer signal. Rejects at that moment even if
 * the work ignores the signal; its late outcome is dropped.
 */
export async function withTimeout<T>(
  clock: Clock,
  limitMs: number,
  outer: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  throwIfCancelled(outer);
  const controller = new AbortController();
  let expire: (error: Error) => void = () => {};
  const expired = new Promise<never>((_, reject) => {
    expire = reject;
  });
  // One listener for both: this is around each call.
  const onOuterAbort = (): void => {
    controller.abort(outer?.reason);
    expire(new Cancelled());
  };
  outer?.addEventListener('abort', onOuterAbort, { once: true });
  const timer = clock.setTimer(limitMs, () => {
    expire(new TimedOut(`timed out after ${limitMs}ms`));
    controller.abort(new TimedOut());
  });
  try {
    return await Promise.race([work(controller.signal), expired]);
  } finally {
    timer.cancel();
    outer?.removeEventListener('abort', onOuterAbort);
  }
}

/** A controller that aborts with its parent, or the first of two. Call `unlink` when it is no longer needed. */
export function linkedController(
  parent: AbortSignal | undefined,
  second?: AbortSignal,
): {
  controller: AbortController;
  unlink: () => void;
} {
  const controller = new AbortController();
  const unlinkParent = link(controller, parent);
  if (second === undefined) return { controller, unlink: unlinkParent };
  const unlinkSecond = link(controller, second);
  return {
    controller,
    unlink: () => {
      unlinkParent();
      unlinkSecond();
    },
  };
}

function link(controller: AbortController, parent: AbortSignal | undefined): () => void {
  if (parent === undefined) return () => {};
  const onAbort = (): void => controller.abort(parent.reason);
  if (parent.aborted) onAbort();
  else parent.addEventListener('abort', onAbort, { once: true });
  return () => parent.removeEventListener('abort', onAbort);
}

const longestTimerMs = 2_147_483_647;

/** The system clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer(delayMs, fire) {
    // Node fires timers beyond 2^31-1 ms at once; here 24 days is as good as any longer wait.
    const waitMs = Math.min(Math.max(0, delayMs), longestTimerMs);
    const dueMs = performance.now() + waitMs;
    // Node counts whole milliseconds and can fire up to one early; a 3 s sleep hook would then have taken 2.
    const fireWhenDue = (): void => {
      if (performance.now() < dueMs) handle = setTimeout(fireWhenDue, 1);
      else fire();
    };
    let handle = setTimeout(fireWhenDue, waitMs);
    return { cancel: () => clearTimeout(handle) };
  },
};

/** Uniformly random in [duration, duration × (1 + factor)). */
export function jitter(durationMs: number, random: () => number = Math.random, factor = 0.5): number {
  return durationMs + random() * factor * durationMs;
}
