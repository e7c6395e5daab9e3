/** Starts a program that runs beside the agent or outlives it. */
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import type { CommandLine } from './command-line.js';
import type { ProgramEnvironment } from './environment.js';

export type { ChildProcess } from 'node:child_process';

export interface ProgramStartOptions {
  readonly env: ProgramEnvironment;
  readonly stdio: StdioOptions;
  /** Default `/`, which no pod can have made. */
  readonly cwd?: string;
  /** The program's argv[0]. */
  readonly argv0?: string;
  readonly uid?: number;
  readonly gid?: number;
}

/**
 * Starts the program in its own session: terminal signals do not reach it, and a kill can include its
 * children. A failed start is thrown or emitted as `error`.
 */
export function startProgram({ program, words }: CommandLine, options: ProgramStartOptions): ChildProcess {
  const { cwd = '/', env, ...others } = options;
  return spawn(program, [...words], { ...others, cwd, env: { ...env }, detached: true });
}

/**
 * Kills the process group of a started program. Call it only before the program's exit is reported: until
 * then the program is not reaped and its pid is still its own.
 */
export function killProgram({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    // Gone, or (on macOS) dead and not yet reaped.
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code !== 'ESRCH' && code !== 'EPERM') throw error;
  }
}
