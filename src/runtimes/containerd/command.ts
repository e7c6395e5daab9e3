/** Runs a program of the machine to its end; a failure becomes an error with its output. */
import { systemClock } from '../../async/index.js';
import {
  type CommandLine,
  endText,
  inheritedEnvironment,
  type ProgramEnvironment,
  plainEnvironment,
  programPath,
  runProgram,
} from '../../programs/index.js';

export interface CommandResult {
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  /** Added to the environment of system programs. */
  readonly env?: ProgramEnvironment;
  /** The program is killed after this time. Default: one minute. */
  readonly timeoutMs?: number;
  /** Written to stdin, which is then closed. */
  readonly input?: string | Buffer;
  /** Aborting kills the program. */
  readonly signal?: AbortSignal;
}

const outputLimitBytes = 32 * 1024 * 1024;
const shownLines = 15;

export class CommandError extends Error {
  override readonly name = 'CommandError';

  constructor(
    readonly command: string,
    readonly exitCode: number | undefined,
    readonly stdout: string,
    readonly stderr: string,
    how: string,
  ) {
    const words = exitCode === undefined ? `did not finish (${how})` : `exited with ${exitCode}`;
    super(`${command}: ${words}\n${lastLines(`${stdout}\n${stderr}`, shownLines)}`);
  }
}

export function lastLines(text: string, count: number): string {
  return text.trim().split('\n').slice(-count).join('\n');
}

/** The agent's whole environment, for programs that call others from the system directories. */
export function systemEnvironment(extra: ProgramEnvironment = {}): ProgramEnvironment {
  return inheritedEnvironment({ LC_ALL: 'C.UTF-8', PATH: programPath(), ...extra });
}

export async function runCommand(line: CommandLine, options: CommandOptions = {}): Promise<CommandResult> {
  const { env, timeoutMs = 60_000, input, signal } = options;
  const end = await runProgram(line, {
    // External programs run in real time.
    clock: systemClock,
    limitMs: timeoutMs,
    env: plainEnvironment({ LC_ALL: 'C.UTF-8', ...env }),
    outputLimitBytes,
    signal,
    ...(input === undefined ? {} : { input }),
  });
  const { stdout, stderr } = end;
  if (end.kind === 'exited' && end.exitCode === 0) return { stdout, stderr };
  const exitCode = end.kind === 'exited' ? end.exitCode : undefined;
  throw new CommandError(String(line), exitCode, stdout, stderr, endText(end));
}
