/** Waits for something outside this process that announces itself by no event. */
import { setTimeout as sleep } from 'node:timers/promises';

export interface PollOptions {
  readonly timeoutMs: number;
  readonly intervalMs?: number;
  /** Added to the error when time is up. */
  readonly detail?: () => string;
}

/** Calls `probe` until it returns a value other than `undefined`; throws what it threw. */
export async function pollUntil<T>(
  what: string,
  probe: () => Promise<T | undefined> | T | undefined,
  options: PollOptions,
): Promise<T> {
  const deadlineMs = performance.now() + options.timeoutMs;
  for (;;) {
    const value = await probe();
    if (value !== undefined) {
      return value;
    }
    if (performance.now() >= deadlineMs) {
      throw new Error(
        `${what}: not within ${options.timeoutMs} ms${options.detail ? `\n${options.detail()}` : ''}`,
      );
    }
    await sleep(options.intervalMs ?? 10);
  }
}
