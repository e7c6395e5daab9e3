/** A value of a script that changes with time: steps of `VALUE:DURATION` joined by `+`. */
import { parseDuration } from '../../kube/index.js';

export interface ScheduleStep<T> {
  readonly value: T;
  /** Infinite for a value that holds from then on. */
  readonly durationMs: number;
}

/** If the last step has a duration, all steps are repeated. */
export interface Schedule<T> {
  readonly steps: readonly ScheduleStep<T>[];
  /** Of all steps together; infinite when the last one holds. */
  readonly lengthMs: number;
}

/** A script is a line that a person writes. */
const mostSteps = 64;

/** Throws an error that says what is wrong. */
export function parseSchedule<T>(text: string, parseValue: (text: string) => T): Schedule<T> {
  const parts = text.split('+');
  if (parts.length > mostSteps) throw new Error(`it has ${parts.length} steps; at most ${mostSteps} can be`);
  const steps = parts.map((part, index): ScheduleStep<T> => {
    const colon = part.lastIndexOf(':');
    const value = parseValue((colon < 0 ? part : part.slice(0, colon)).trim());
    if (colon < 0) {
      if (index < parts.length - 1)
        throw new Error(`"${part}" has no duration, and "${parts[index + 1]}" follows it; write ${part}:10s`);
      return { value, durationMs: Number.POSITIVE_INFINITY };
    }
    const durationMs = parseDuration(part.slice(colon + 1).trim());
    if (durationMs <= 0) throw new Error(`the duration of "${part}" is not longer than nothing`);
    return { value, durationMs };
  });
  return { steps, lengthMs: steps.reduce((sum, { durationMs }) => sum + durationMs, 0) };
}

/** The value after so much time. */
export function scheduledValue<T>({ steps, lengthMs }: Schedule<T>, elapsedMs: number): T {
  let restMs = Number.isFinite(lengthMs) ? elapsedMs % lengthMs : elapsedMs;
  for (const { value, durationMs } of steps) {
    if (restMs < durationMs) return value;
    restMs -= durationMs;
  }
  // Only by rounding: the rest is less than the length.
  return lastOf(steps);
}

/** The sum over time, in units of the value times milliseconds. */
export function scheduledSum({ steps, lengthMs }: Schedule<number>, elapsedMs: number): number {
  const rounds = Number.isFinite(lengthMs) ? Math.floor(elapsedMs / lengthMs) : 0;
  let restMs = rounds === 0 ? elapsedMs : elapsedMs - rounds * lengthMs;
  let sum =
    rounds === 0 ? 0 : rounds * steps.reduce((whole, { value, durationMs }) => whole + value * durationMs, 0);
  for (const { value, durationMs } of steps) {
    const tookMs = Math.min(restMs, durationMs);
    sum += value * tookMs;
    restMs -= tookMs;
    if (restMs <= 0) break;
  }
  return sum;
}

function lastOf<T>(steps: readonly ScheduleStep<T>[]): T {
  const last = steps.at(-1);
  if (last === undefined) throw new Error('a schedule has at least one step');
  return last.value;
}
