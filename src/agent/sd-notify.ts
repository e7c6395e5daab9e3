/** Tells systemd that the service is ready, where it was started by systemd. */
import { systemClock } from '../async/index.js';
import { CommandLine, endText, plainEnvironment, runProgram } from '../programs/index.js';

const limitMs = 5_000;

/** Node has no datagram unix sockets, so systemd's own tool speaks for this process. */
export async function notifySystemd(state: string, env: NodeJS.ProcessEnv): Promise<void> {
  const { NOTIFY_SOCKET } = env;
  if (NOTIFY_SOCKET === undefined || NOTIFY_SOCKET === '') return;
  const line = CommandLine.of('systemd-notify').option('--pid', process.pid).operands(state);
  const end = await runProgram(line, {
    clock: systemClock,
    limitMs,
    env: plainEnvironment({ NOTIFY_SOCKET }),
    outputLimitBytes: 64 * 1024,
  });
  if (end.kind === 'exited' && end.exitCode === 0) return;
  throw new Error(`${line}: ${endText(end)}: ${end.stderr.trim()}`);
}
