/**
 * Terminals for commands. Node cannot create one, so the host's `script` does: it runs the command as the
 * leader of a session on a new terminal and copies between that and its own input and output.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../async/clock.js';
import { absolutePath, checkedWord } from '../../programs/checked-word.js';
import { CommandLine } from '../../programs/command-line.js';
import { plainEnvironment } from '../../programs/environment.js';
import { endText, runProgram } from '../../programs/run.js';
import { findCommand } from './command-lookup.js';
import { parseProcStat } from './proc-stat.js';

const hostSearchPath = (): string => process.env.PATH ?? '/usr/local/bin:/usr/bin:/bin';
const leaderPollMs = 2;
const leaderLimitMs = 2_000;
const sttyLimitMs = 5_000;

export interface TerminalCommand {
  readonly path: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Wraps the command so that it gets a terminal. Throws when none is available. */
export function onTerminal(command: TerminalCommand): TerminalCommand {
  const script = findCommand('script', hostSearchPath(), '/');
  if (!script.found) {
    throw new Error(
      'no terminal is available: there is no "script" on the PATH of this machine; install it ' +
        '(package util-linux, bsdutils or util-linux-script), or leave out "tty"',
    );
  }
  const env = { TERM: 'xterm', ...command.env };
  if (process.platform !== 'linux') {
    return { path: script.path, args: ['-q', '/dev/null', command.path, ...command.args], env };
  }
  const shell = command.env.SHELL;
  const words = [command.path, ...command.args].map(quoted).join(' ');
  // The shell that `script` starts must be a plain one, whatever the container's own is.
  const text = `${shell === undefined ? 'unset SHELL' : `export SHELL=${quoted(shell)}`}; exec ${words}`;
  return { path: script.path, args: ['-qefc', text, '/dev/null'], env: { ...env, SHELL: '/bin/sh' } };
}

/** Quotes a word for the shell. */
export function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

export interface TerminalSession {
  /** The command's pid, which is also its process group and session id. */
  readonly leader: number;
  /** The terminal's device, as in `/dev/pts/3`. */
  readonly device: string;
}

/** The session that `script` created; undefined when it ended before it was seen, or cannot be seen here. */
export async function terminalSession(
  scriptPid: number,
  hasEnded: () => boolean,
): Promise<TerminalSession | undefined> {
  if (process.platform !== 'linux') return undefined;
  for (let waitedMs = 0; waitedMs < leaderLimitMs && !hasEnded(); waitedMs += leaderPollMs) {
    for (const pid of childrenOf(scriptPid)) {
      const device = terminalOf(pid);
      if (device !== undefined) return { leader: pid, device };
    }
    await sleep(leaderPollMs);
  }
  return undefined;
}

/** The kernel notifies the programs on the terminal. */
export async function resizeTerminal(
  device: string,
  { width, height }: { readonly width: number; readonly height: number },
): Promise<void> {
  const file = checkedWord(absolutePath, 'the terminal', device);
  const line = CommandLine.of('stty')
    .optionWord(process.platform === 'linux' ? '-F' : '-f', file)
    .optionWord('cols', width)
    .optionWord('rows', height);
  const env = plainEnvironment();
  const end = await runProgram(line, {
    clock: systemClock,
    limitMs: sttyLimitMs,
    env,
    outputLimitBytes: 4096,
  });
  if (end.kind !== 'exited' || end.exitCode !== 0)
    throw new Error(`the size of ${device} cannot be set: ${endText(end)}`);
}

/** The terminal of a process that leads a session on it. */
function terminalOf(pid: number): string | undefined {
  try {
    const stat = parseProcStat(readFileSync(`/proc/${pid}/stat`, 'utf8'));
    if (stat === undefined || stat.session !== pid || stat.processGroup !== pid) return undefined;
    const input = readlinkSync(`/proc/${pid}/fd/0`);
    return input.startsWith('/dev/pts/') ? input : undefined;
  } catch {
    // Gone, or not set up yet.
    return undefined;
  }
}

function childrenOf(pid: number): number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
    return text.trim().split(' ').filter(Boolean).map(Number);
  } catch {
    // A kernel without this file: scan all processes.
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name) && parentOf(name) === pid)
      .map(Number);
  }
}

function parentOf(pid: string): number | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return undefined;
  }
}
