/** Starts a command as a process of a container, on pipes or on a terminal. */
import { once } from 'node:events';
import { constants } from 'node:os';
import { CommandLine } from '../../programs/command-line.js';
import { type ChildProcess, startProgram } from '../../programs/start.js';
import { asUser, type CommandSurroundings } from './as-user.js';
import { findCommand } from './command-lookup.js';
import { onTerminal, type TerminalSession, terminalSession } from './terminal.js';

export interface CommandProcess {
  /** The command itself, or the terminal program it runs under. */
  readonly child: ChildProcess;
  /** The child's pid, which is also its group and session id. */
  readonly pid: number;
  /**
   * The command on its terminal, if it has one and it can be seen. Output without a listener is lost when the
   * command ends, so listen before awaiting this.
   */
  readonly session: Promise<TerminalSession | undefined>;
  /** The exit code, or 128 plus the number of the signal; output may still follow. */
  readonly exited: Promise<number>;
}

export interface CommandWish {
  readonly argv: readonly string[];
  /** Whether a client may write to its input, which then stays open until it is ended. */
  readonly stdin: boolean;
  readonly tty: boolean;
}

/** The command could not be started; the message names it. */
export class CommandNotStarted extends Error {
  override readonly name = 'CommandNotStarted';
}

/** Rejects with `CommandNotStarted`. */
export async function startCommand(
  launch: CommandSurroundings,
  { argv, stdin, tty }: CommandWish,
): Promise<CommandProcess> {
  const [command = '', ...args] = argv;
  const lookup = findCommand(command, launch.env.PATH ?? '', launch.workingDir);
  if (!lookup.found) throw new CommandNotStarted(lookup.problem);
  try {
    const plain = { path: lookup.path, args, env: launch.env };
    const target = tty ? onTerminal(plain) : plain;
    const { path, args: words, env, user, isDirect } = asUser(target, { ...launch, env: target.env });
    const child = startProgram(CommandLine.given(path, words), {
      ...(tty || !isDirect ? {} : { argv0: command }),
      cwd: launch.workingDir,
      env,
      ...user,
      // A terminal without a writer stays open; a pipe without one ends at once.
      stdio: [stdin || tty ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    });
    let ended = false;
    const exited = new Promise<number>((resolve) => {
      child.once('exit', (code, signal) => {
        ended = true;
        resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal]));
      });
    });
    if (child.pid === undefined) throw (await once(child, 'error'))[0];
    child.on('error', () => {});
    // A command that exits without reading its input is no error.
    child.stdin?.on('error', () => {});
    const session = tty ? terminalSession(child.pid, () => ended) : Promise.resolve(undefined);
    return { child, pid: child.pid, session, exited };
  } catch (cause) {
    const text = cause instanceof Error ? cause.message : String(cause);
    throw new CommandNotStarted(`exec: ${JSON.stringify(command)}: ${text}`, { cause });
  }
}
