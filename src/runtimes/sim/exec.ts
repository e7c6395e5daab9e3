/**
 * ExecSync and Exec of a simulated runtime: scripted by annotation or by the test, else the command is
 * simulated.
 */
import type { Clock } from '../../async/index.js';
import { CriError, type ExecSyncRequest, type ExecSyncResponse } from '../../cri/index.js';
import { formatDuration } from '../../kube/index.js';
import type { CommandStreams, ExecStreamRequest } from '../../streaming/index.js';
import { SimProcess } from './process.js';
import { type Program, type ProgramStep, parseProgram } from './program.js';
import type { SimContainer } from './store.js';
import { onTerminalOutput, StreamsWriter } from './streams.js';

export interface SimExecResult {
  readonly exitCode?: number;
  readonly stdout?: string;
  readonly stderr?: string;
  readonly durationMs?: number;
  /** The command cannot be started, for this reason. */
  readonly startError?: string;
}

export interface SimExecCall {
  readonly containerId: string;
  readonly containerName: string;
  readonly podUid: string;
  readonly podName: string;
  readonly command: readonly string[];
}

/** Handles an ExecSync or Exec, or leaves it to the simulation with `undefined`. */
export type SimExec = (call: SimExecCall) => SimExecResult | undefined;

export function execSync(
  clock: Clock,
  container: SimContainer,
  request: ExecSyncRequest,
  exec: SimExec | undefined,
  signal: AbortSignal,
): Promise<ExecSyncResponse> {
  requireRunning(container, 'failed to exec in container: ');
  const program = execProgram(container, request.cmd, exec);
  return new Promise((resolve, reject) => {
    const output = { stdout: '', stderr: '' };
    const finish = (settle: () => void): void => {
      timer?.cancel();
      signal.removeEventListener('abort', onAbort);
      container.exitWaiters.delete(onContainerExit);
      settle();
    };
    const process = new SimProcess({
      clock,
      program,
      print: (stream, line) => {
        output[stream] += line;
      },
      onExit: (exitCode) =>
        finish(() =>
          resolve({ stdout: Buffer.from(output.stdout), stderr: Buffer.from(output.stderr), exitCode }),
        ),
    });
    const onContainerExit = (): void => process.kill();
    const fail = (error: unknown): void => {
      process.abandon();
      finish(() => reject(error));
    };
    const onAbort = (): void => fail(signal.reason);
    const timer =
      request.timeout > 0
        ? clock.setTimer(request.timeout * 1000, () =>
            fail(
              new CriError(
                'DeadlineExceeded',
                `failed to exec in container: timeout ${formatDuration(request.timeout * 1000)} exceeded: context deadline exceeded`,
              ),
            ),
          )
        : undefined;
    signal.addEventListener('abort', onAbort, { once: true });
    container.exitWaiters.add(onContainerExit);
    process.start();
  });
}

/** Resolves with the exit code when the output is written. */
export async function execStreams(
  clock: Clock,
  container: SimContainer,
  { command, tty }: ExecStreamRequest,
  streams: CommandStreams,
  { exec, signal }: { readonly exec: SimExec | undefined; readonly signal: AbortSignal },
): Promise<number> {
  requireRunning(container);
  const program = execProgram(container, command, exec);
  const { stdin } = streams;
  const writer = new StreamsWriter(streams, stdin);
  let process: SimProcess | undefined;
  const onInput = (bytes: Buffer): void => process?.input(bytes);
  const onInputEnd = (): void => process?.endInput();
  let onAbort = (): void => {};
  let onContainerExit = (): void => {};
  const exited = new Promise<number>((resolve, reject) => {
    onAbort = () => {
      process?.abandon();
      reject(signal.reason);
    };
    onContainerExit = () => process?.kill();
    process = new SimProcess({
      clock,
      program,
      print: (stream, text) =>
        writer.write(tty ? 'stdout' : stream, Buffer.from(tty ? onTerminalOutput(text) : text)),
      copy: (bytes) => writer.write('stdout', bytes),
      ...(stdin && { onReading: () => void stdin.on('data', onInput).on('end', onInputEnd) }),
      onExit: resolve,
    });
    signal.addEventListener('abort', onAbort, { once: true });
    container.exitWaiters.add(onContainerExit);
    if (signal.aborted) onAbort();
    else process.start();
  });
  try {
    return await exited;
  } finally {
    signal.removeEventListener('abort', onAbort);
    container.exitWaiters.delete(onContainerExit);
    stdin?.off('data', onInput).off('end', onInputEnd).pause();
  }
}

/** Throws unless the container is running. */
export function requireRunning({ state }: SimContainer, during = ''): void {
  if (state.kind === 'running') return;
  const name = state.kind === 'exited' ? 'CONTAINER_EXITED' : 'CONTAINER_CREATED';
  throw new CriError('Unknown', `${during}container is in ${name} state`);
}

function execProgram(
  container: SimContainer,
  command: readonly string[],
  exec: SimExec | undefined,
): Program {
  const pod = container.sandbox.config.metadata;
  const answered = exec?.({
    containerId: container.id,
    containerName: container.config.metadata?.name ?? '',
    podUid: pod?.uid ?? '',
    podName: pod?.name ?? '',
    command,
  });
  if (answered?.startError !== undefined) throw new CriError('Unknown', answered.startError);
  if (answered !== undefined) return playing(answered);
  const { exec: scripted } = container.script;
  if (scripted !== undefined) {
    return playing({
      exitCode: scripted.exitCode,
      stdout: scripted.output,
      durationMs: scripted.durationMs,
    });
  }
  const parsed = parseProgram(command);
  if (parsed === undefined) return playing({});
  return {
    onTerm: parsed.onTerm,
    steps: parsed.steps.map((step) => (step.do === 'print' ? { ...step, line: `${step.line}\n` } : step)),
  };
}

function playing(result: SimExecResult): Program {
  const steps: ProgramStep[] = [];
  if (result.stdout) steps.push({ do: 'print', stream: 'stdout', line: result.stdout });
  if (result.stderr) steps.push({ do: 'print', stream: 'stderr', line: result.stderr });
  if (result.durationMs) steps.push({ do: 'sleep', durationMs: result.durationMs, interruptible: true });
  steps.push({ do: 'exit', code: result.exitCode ?? 0 });
  return { steps, onTerm: 'ignore' };
}
