/** systemd, where it started the agent: the agent reports its state, and learns how often the watchdog wants to hear from it. */
import { systemClock } from '../async/index.js';
import { CommandLine, endText, plainEnvironment, runProgram } from '../programs/index.js';
import { describeError } from '../timeline/index.js';
import { StartFailure } from './start-failure.js';
import { watchdogPeriodMs } from './watchdog.js';

export interface Systemd {
  /** Sends a state such as `READY=1`; false, and nothing done, where systemd did not start the agent. */
  notify(state: string): Promise<boolean>;
  /** How often the watchdog wants to hear from the agent; undefined when it does not. */
  readonly watchdogPeriodMs: number | undefined;
}

/** Throws a StartFailure when the unit asks for a watchdog that the agent cannot serve. */
export function findSystemd(environment: NodeJS.ProcessEnv): Systemd {
  const { NOTIFY_SOCKET: socket = '' } = environment;
  return {
    notify: async (state) => {
      if (socket === '') return false;
      await sendState(state, socket);
      return true;
    },
    watchdogPeriodMs: readWatchdogPeriod(environment),
  };
}

function readWatchdogPeriod(environment: NodeJS.ProcessEnv): number | undefined {
  try {
    return watchdogPeriodMs(environment, process.pid);
  } catch (error) {
    throw new StartFailure(`${describeError(error)}; correct WatchdogSec of the unit`, { cause: error });
  }
}

const limitMs = 5_000;

/** Node has no datagram unix sockets, so systemd's own tool speaks for this process. */
async function sendState(state: string, socket: string): Promise<void> {
  const line = CommandLine.of('systemd-notify').option('--pid', process.pid).operands(state);
  const end = await runProgram(line, {
    clock: systemClock,
    limitMs,
    env: plainEnvironment({ NOTIFY_SOCKET: socket }),
    outputLimitBytes: 64 * 1024,
  });
  if (end.kind === 'exited' && end.exitCode === 0) return;
  throw new Error(`${line}: ${endText(end)}: ${end.stderr.trim()}`);
}
