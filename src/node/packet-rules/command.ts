/** The machine's packet filter, through the system's programs. */
import type { Clock } from '../../async/index.js';
import { endText, plainEnvironment, runProgram } from '../../programs/index.js';
import { commandLimitMs, type RunPacketCommand } from './packet-rules.js';

const outputLimitBytes = 1 << 20;

export function packetCommands(clock: Clock): RunPacketCommand {
  return async (command, signal) => {
    const env = plainEnvironment();
    const end = await runProgram(command, { clock, limitMs: commandLimitMs, signal, env, outputLimitBytes });
    if (end.kind !== 'exited') throw new Error(`cannot run ${command.program}: ${endText(end)}`);
    return { code: end.exitCode, stdout: end.stdout, stderr: end.stderr };
  };
}
