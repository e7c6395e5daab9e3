/** When a worker looks at its pod again after a step. */
import { errorText, jitter } from '../../async/index.js';

export interface RequeueInput {
  readonly phaseTransition: boolean;
  readonly error: unknown;
  readonly resyncMs: number;
  readonly errorBackoffMs: number;
  /** For what is likely to be over soon: a network that comes up, a runtime that is being restarted. */
  readonly networkBackoffMs: number;
  /** Wall-clock milliseconds, as the ends of crash-loop back-offs are. */
  readonly nowMs: number;
  readonly random: () => number;
}

export const networkNotReady = 'network is not ready';
const runtimeAway = 'code = Unavailable';

export function requeueDelayMs(input: RequeueInput): number {
  if (input.phaseTransition) return 0;
  if (input.error === undefined) return jitter(input.resyncMs, input.random);
  const text = errorText(input.error);
  if (text.includes(networkNotReady) || text.includes(runtimeAway))
    return jitter(input.networkBackoffMs, input.random);
  const endsMs = earliestBackoffEnd(input.error);
  const wantedMs = endsMs === undefined ? input.errorBackoffMs : endsMs - input.nowMs;
  return jitter(Math.min(Math.max(0, wantedMs), input.resyncMs), input.random);
}

/** The first end of a crash-loop back-off anywhere in a tree of errors. */
export function earliestBackoffEnd(error: unknown): number | undefined {
  let earliest: number | undefined;
  const visit = (current: unknown, depth: number): void => {
    if (depth > 8 || typeof current !== 'object' || current === null) return;
    if ('backoffUntilMs' in current && typeof current.backoffUntilMs === 'number') {
      earliest = Math.min(earliest ?? Number.POSITIVE_INFINITY, current.backoffUntilMs);
    }
    if (current instanceof Error) visit(current.cause, depth + 1);
    if ('errors' in current && Array.isArray(current.errors)) {
      for (const inner of current.errors) visit(inner, depth + 1);
    }
  };
  visit(error, 0);
  return earliest;
}
