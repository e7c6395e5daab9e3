/** The watchdog of systemd: the agent reports to it while all health checks pass. */
import { type Clock, jitter, sleep } from '../async/index.js';
import { formatDuration, goQuote } from '../kube/index.js';
import type { Timeline } from '../timeline/index.js';

export interface WatchdogCheck {
  readonly name: string;
  check(): string | undefined;
}

const shortestMs = 1_000;
const resendMs = 1_000;

/** How often systemd wants to hear of this process, or undefined when it does not. Throws on a bad value. */
export function watchdogPeriodMs(env: NodeJS.ProcessEnv, pid: number): number | undefined {
  const { WATCHDOG_USEC: microsecondsText = '', WATCHDOG_PID: forPid = '' } = env;
  if (microsecondsText === '') return undefined;
  const microseconds = integer('WATCHDOG_USEC', microsecondsText);
  if (microseconds <= 0n)
    throw new Error(
      'create health checker: configure watchdog: error WATCHDOG_USEC must be a positive number',
    );
  if (forPid !== '' && integer('WATCHDOG_PID', forPid) !== BigInt(pid)) return undefined;
  const timeoutMs = Number(microseconds) / 1000;
  if (timeoutMs <= shortestMs)
    throw new Error(
      `create health checker: configure watchdog timeout too small: ${formatDuration(timeoutMs)}`,
    );
  return timeoutMs / 2;
}

/** A whole number of 64 bits, as the reference reads one. */
function integer(name: string, text: string): bigint {
  const isNumber = /^[+-]?\d+$/.test(text);
  // More digits than 64 bits have are not converted, however many there are.
  const value = isNumber && text.length <= 20 ? BigInt(text.replace('+', '')) : undefined;
  if (value !== undefined && BigInt.asIntN(64, value) === value) return value;
  const why = isNumber ? 'value out of range' : 'invalid syntax';
  const shown = goQuote(text.slice(0, 100));
  throw new Error(
    `create health checker: configure watchdog: error converting ${name}: strconv.Atoi: parsing ${shown}: ${why}`,
  );
}

export interface WatchdogOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly periodMs: number;
  /** Asked in order, each time; the first failure counts. */
  readonly checks: readonly WatchdogCheck[];
  /** False where nobody listens. */
  readonly notify: (state: string) => Promise<boolean>;
  readonly random?: () => number;
}

export async function runWatchdog(options: WatchdogOptions, signal: AbortSignal): Promise<void> {
  const { clock, periodMs } = options;
  // The first report is at once: systemd has counted since it started the agent.
  for (;;) {
    await report(options, signal);
    await sleep(clock, periodMs, signal);
  }
}

async function report(
  { clock, timeline, checks, notify, random }: WatchdogOptions,
  signal: AbortSignal,
): Promise<void> {
  const problem = firstProblem(checks);
  if (problem !== undefined) {
    timeline.record({
      kind: 'problem',
      what: 'watchdog',
      message: 'systemd is not told that the agent is well',
      because: problem,
    });
    return;
  }
  const send = async (): Promise<unknown> => {
    try {
      return (await notify('WATCHDOG=1')) ? undefined : 'nobody';
    } catch (error) {
      return error;
    }
  };
  let failure = await send();
  if (failure !== undefined && failure !== 'nobody') {
    await sleep(clock, jitter(resendMs, random, 0.1), signal);
    failure = await send();
  }
  if (failure === undefined) return;
  timeline.record({
    kind: 'problem',
    what: 'watchdog',
    message: 'systemd could not be told that the agent is well',
    error: failure === 'nobody' ? new Error('NOTIFY_SOCKET is not set') : failure,
  });
}

function firstProblem(checks: readonly WatchdogCheck[]): string | undefined {
  for (const { name, check } of checks) {
    const problem = check();
    if (problem !== undefined) return `checker ${name} failed: ${problem}`;
  }
  return undefined;
}
