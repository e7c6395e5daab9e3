/** The file that tells of the last shutdown after the machine is back: its content, as the reference writes it. */
import { parseTimestamp } from '../../kube/index.js';

export interface ShutdownTimes {
  /** Wall-clock milliseconds. */
  readonly startMs: number | undefined;
  readonly endMs: number | undefined;
}

export const shutdownStateName = 'graceful_node_shutdown_state';
const unset = '0001-01-01T00:00:00Z';

export function shutdownStateText({ startMs, endMs }: ShutdownTimes): string {
  const text = (timeMs: number | undefined): string =>
    timeMs === undefined ? unset : new Date(timeMs).toISOString();
  return JSON.stringify({ startTime: text(startMs), endTime: text(endMs) });
}

/** Throws on what is no such content. */
export function parseShutdownState(content: string): ShutdownTimes {
  const parsed: unknown = JSON.parse(content);
  if (typeof parsed !== 'object' || parsed === null) throw new Error('it is no object with times');
  return {
    startMs: 'startTime' in parsed ? timeOf(parsed.startTime) : undefined,
    endMs: 'endTime' in parsed ? timeOf(parsed.endTime) : undefined,
  };
}

function timeOf(value: unknown): number | undefined {
  const timeMs = typeof value === 'string' ? parseTimestamp(value) : undefined;
  if (timeMs === undefined) throw new Error('a time in it is no RFC 3339 time');
  return timeMs === parseTimestamp(unset) ? undefined : timeMs;
}

/** Whole seconds since the epoch; 0 for a time that is not known. */
export function unixSeconds(timeMs: number | undefined): number {
  return timeMs === undefined ? 0 : Math.floor(timeMs / 1000);
}
