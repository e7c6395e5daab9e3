/** Starts a program that runs beside the agent, or outlives it. */
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import type { CommandLine } from './command-line.js';
import type { ProgramEnvironment } from './environment.js';

export type { ChildProcess } from 'node:child_process';

export interface StartOptions {
  readonly env: ProgramEnvironment;
  readonly stdio: StdioOptions;
  /** `/`, which no pod can have made. */
  readonly cwd?: string;
  /** What the program is told that it is called. */
  readonly argv0?: string;
  readonly uid?: number;
  readonly gid?: number;
}

/**
 * In a session of its own: signals of a terminal do not reach it, and it can be stopped with all that it started. A failed
 * start is told by the `error` event, or thrown.
 */
export function startProgram({ program, words }: CommandLine, options: StartOptions): ChildProcess {
  const { cwd = '/', env, ...others } = options;
  return spawn(program, [...words], { ...others, cwd, env: { ...env }, detached: true });
}

/**
 * Kills the group that a started program leads. Only until the program's end was told: until then it has not been waited
 * for, so that its number is still its own.
 */
export function killProgram({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    // Gone, or (on macOS) dead and not yet waited for.
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code !== 'ESRCH' && code !== 'EPERM') throw error;
  }
}
