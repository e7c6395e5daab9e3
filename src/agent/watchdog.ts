/** The watchdog of systemd: the agent reports to it while all health checks pass. */
import { type Clock, sleep } from '../async/index.js';
import { formatDuration } from '../kube/index.js';
import type { Timeline } from '../timeline/index.js';

export interface WatchdogCheck {
  readonly name: string;
  check(): string | undefined;
}

const shortestMs = 1_000;
const tries = 2;

/** How often systemd wants to hear of this process, or undefined when it does not. Throws on a bad value. */
export function watchdogPeriodMs(env: NodeJS.ProcessEnv, pid: number): number | undefined {
  const { WATCHDOG_USEC: microseconds = '', WATCHDOG_PID: forPid = '' } = env;
  if (microseconds === '' || microseconds === '0') return undefined;
  if (forPid !== '' && forPid !== String(pid)) return undefined;
  if (!/^\d+$/.test(microseconds)) {
    throw new Error(
      `create health checker: configure watchdog: WATCHDOG_USEC is "${microseconds}", not a number of microseconds`,
    );
  }
  const timeoutMs = Number(microseconds) / 1000;
  if (timeoutMs <= shortestMs)
    throw new Error(`configure watchdog timeout too small: ${formatDuration(timeoutMs)}`);
  return timeoutMs / 2;
}

export interface WatchdogOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly periodMs: number;
  readonly checks: readonly WatchdogCheck[];
  readonly notify: (state: string) => Promise<void>;
}

export async function runWatchdog(options: WatchdogOptions, signal: AbortSignal): Promise<void> {
  const { clock, timeline, periodMs, checks, notify } = options;
  for (;;) {
    await sleep(clock, periodMs, signal);
    const problems = checks.flatMap(({ name, check }) => {
      const problem = check();
      return problem === undefined ? [] : [`${name}: ${problem}`];
    });
    if (problems.length > 0) {
      timeline.record({
        kind: 'problem',
        what: 'watchdog',
        message: 'systemd is not told that the agent is well',
        because: problems.join(', '),
      });
      continue;
    }
    for (let attempt = 1; attempt <= tries; attempt++) {
      try {
        await notify('WATCHDOG=1');
        break;
      } catch (error) {
        if (attempt === tries)
          timeline.record({
            kind: 'problem',
            what: 'watchdog',
            message: 'systemd could not be told that the agent is well',
            error,
          });
        else await sleep(clock, 1_000, signal);
      }
    }
  }
}
