/** ExecSync of the process runtime: runs a command with the container's environment and user. */
import { constants } from 'node:os';
import { ByteReader, type Clock, errorText } from '../../async/index.js';
import { CriError, type ExecSyncRequest, type ExecSyncResponse } from '../../cri/index.js';
import { formatDuration } from '../../kube/index.js';
import { type ChildProcess, CommandLine, startProgram } from '../../programs/index.js';
import { asUser } from './as-user.js';
import { findCommand } from './command-lookup.js';
import type { ProcessContainer } from './records.js';
import { killGroup } from './supervision.js';

/** Output beyond this, per stream, is dropped. */
export const execOutputLimitBytes = 16 * 1024 * 1024;
/** How long to wait for output after the command's exit, in case something it started holds its pipes. */
const drainLimitMs = 1_000;

export async function execSync(
  clock: Clock,
  container: ProcessContainer,
  { cmd, timeout }: ExecSyncRequest,
  signal: AbortSignal,
): Promise<ExecSyncResponse> {
  const { launch } = container;
  requireRunning(container, 'failed to exec in container: ');
  const [command = '', ...args] = cmd;
  const lookup = findCommand(command, launch.env.PATH ?? '', launch.workingDir);
  if (!lookup.found) throw new CriError('Unknown', `failed to exec in container: ${lookup.problem}`);
  const { path, args: words, env, user, isDirect } = asUser({ path: lookup.path, args }, launch);
  const child = started(() =>
    startProgram(CommandLine.given(path, words), {
      ...(isDirect ? { argv0: command } : {}),
      cwd: launch.workingDir,
      env,
      ...user,
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  );
  const run = new ExecRun(clock, child);
  const onChange = (): void => {
    if (container.state.kind !== 'running') run.kill();
  };
  container.changeWaiters.add(onChange);
  try {
    return await run.result(timeout * 1000, signal);
  } finally {
    container.changeWaiters.delete(onChange);
  }
}

function started(start: () => ChildProcess): ChildProcess {
  try {
    return start();
  } catch (cause) {
    throw new CriError('Unknown', `failed to exec in container: ${errorText(cause)}`, { cause });
  }
}

/** Throws unless the container is running. */
export function requireRunning({ state }: ProcessContainer, during = ''): void {
  if (state.kind === 'running') return;
  const name = state.kind === 'exited' ? 'CONTAINER_EXITED' : 'CONTAINER_CREATED';
  throw new CriError('Unknown', `${during}container is in ${name} state`);
}

class ExecRun {
  readonly #clock: Clock;
  readonly #child: ChildProcess;
  readonly #output = { stdout: new ExecOutput(), stderr: new ExecOutput() };
  #ended = false;

  constructor(clock: Clock, child: ChildProcess) {
    this.#clock = clock;
    this.#child = child;
    for (const stream of ['stdout', 'stderr'] as const) {
      child[stream]?.on('data', (chunk: Buffer) => this.#output[stream].add(chunk));
    }
  }

  /** Rejects at the timeout (0: never) or when the signal aborts, and kills the command. */
  result(timeoutMs: number, signal: AbortSignal): Promise<ExecSyncResponse> {
    const child = this.#child;
    return new Promise((resolve, reject) => {
      let finished = false;
      const finish = (settle: () => void): void => {
        finished = true;
        timer?.cancel();
        drain?.cancel();
        signal.removeEventListener('abort', onAbort);
        child.stdout?.destroy();
        child.stderr?.destroy();
        settle();
      };
      const fail = (error: unknown): void => {
        this.kill();
        finish(() => reject(error));
      };
      const onAbort = (): void => fail(signal.reason);
      let drain: ReturnType<Clock['setTimer']> | undefined;
      const timer =
        timeoutMs > 0
          ? this.#clock.setTimer(timeoutMs, () =>
              fail(
                new CriError(
                  'DeadlineExceeded',
                  `failed to exec in container: timeout ${formatDuration(timeoutMs)} exceeded: context deadline exceeded`,
                ),
              ),
            )
          : undefined;
      signal.addEventListener('abort', onAbort, { once: true });
      child.once('error', (cause) =>
        fail(new CriError('Unknown', `failed to exec in container: ${cause.message}`, { cause })),
      );
      child.once('exit', (code, exitSignal) => {
        this.#ended = true;
        if (finished) return;
        const answer = (): void =>
          finish(() =>
            resolve({
              stdout: this.#output.stdout.bytes(),
              stderr: this.#output.stderr.bytes(),
              exitCode: code ?? 128 + (exitSignal === null ? 0 : constants.signals[exitSignal]),
            }),
          );
        drain = this.#clock.setTimer(drainLimitMs, answer);
        child.once('close', answer);
      });
      if (signal.aborted) onAbort();
    });
  }

  /** Kills the command with all that it started, unless it has exited by itself. */
  kill(): void {
    // The process is not reaped until its exit is reported, so its pid is still its own.
    if (!this.#ended && this.#child.pid !== undefined) killGroup(this.#child.pid);
  }
}

class ExecOutput {
  /** Commands may write byte by byte. */
  readonly #kept = new ByteReader();

  add(chunk: Buffer): void {
    const kept = chunk.subarray(0, execOutputLimitBytes - this.#kept.length);
    if (kept.length > 0) this.#kept.push(kept);
  }

  bytes(): Buffer {
    return this.#kept.takeAll();
  }
}
