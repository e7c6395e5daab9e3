/** Runs one command of the system to its end or to a limit, whichever comes first. */
import { spawn } from 'node:child_process';
import { Cancelled, type Clock, throwIfCancelled } from '../../async/index.js';
import type { CommandFailure } from '../mount-command.js';

export interface CommandRun {
  readonly clock: Clock;
  readonly command: string;
  readonly arguments: readonly string[];
  readonly limitMs: number;
  readonly signal?: AbortSignal | undefined;
}

const outputLimitBytes = 16 * 1024;

/**
 * Undefined on success. A command that does not end in time is killed and not waited for: in an uninterruptible
 * sleep, as with a file server that is away, it would not even end by that.
 */
export function runCommand(run: CommandRun): Promise<CommandFailure | undefined> {
  const { clock, signal } = run;
  return new Promise((resolve, reject) => {
    throwIfCancelled(signal);
    const child = spawn(run.command, [...run.arguments], {
      stdio: ['ignore', 'pipe', 'pipe'],
      // Failures are told by words, which must not be in the user's language.
      env: { PATH: process.env.PATH ?? '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' },
    });
    let output = '';
    const collect = (chunk: Buffer): void => {
      if (output.length < outputLimitBytes) output += chunk.toString('utf8');
    };
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    const abandon = (): void => {
      finish();
      child.kill('SIGKILL');
      child.stdout.destroy();
      child.stderr.destroy();
      child.unref();
    };
    const onAbort = (): void => {
      abandon();
      reject(new Cancelled());
    };
    const timer = clock.setTimer(run.limitMs, () => {
      abandon();
      resolve({ status: `no end within ${run.limitMs / 1000}s`, output, timedOut: true });
    });
    const finish = (): void => {
      timer.cancel();
      signal?.removeEventListener('abort', onAbort);
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    child.on('error', (error) => {
      finish();
      resolve({ status: error.message, output, timedOut: false });
    });
    child.on('close', (code, killedBy) => {
      finish();
      if (code === 0) resolve(undefined);
      else
        resolve({
          status: code === null ? `signal: ${killedBy ?? 'unknown'}` : `exit status ${code}`,
          output,
          timedOut: false,
        });
    });
  });
}
