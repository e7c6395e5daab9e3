/** Runs a program to its end, within limits of time and output. */
import { spawnSync } from 'node:child_process';
import type { Readable } from 'node:stream';
import { Cancelled, type Clock, throwIfCancelled } from '../async/clock.js';
import type { CommandLine } from './command-line.js';
import type { ProgramEnvironment } from './environment.js';
import { type ChildProcess, killProgram, startProgram } from './start.js';

export interface ProgramRunOptions {
  readonly clock: Clock;
  /** A program that runs longer is killed with its process group and not awaited. */
  readonly limitMs: number;
  /** Aborting does the same and rejects the run with Cancelled. */
  readonly signal?: AbortSignal | undefined;
  readonly env: ProgramEnvironment;
  /** Limit for each of stdout and stderr. A program that exceeds it is killed. */
  readonly outputLimitBytes: number;
  /** Written to stdin, which is then closed. */
  readonly input?: string | Uint8Array;
  /** Open descriptors of this process that the program gets as 3, 4, … */
  readonly files?: readonly number[];
}

export interface ProgramOutput {
  readonly stdout: string;
  readonly stderr: string;
}

export type ProgramEnd =
  | ({ readonly kind: 'exited'; readonly exitCode: number } & ProgramOutput)
  /** By someone else. */
  | ({ readonly kind: 'killed'; readonly by: string } & ProgramOutput)
  | ({ readonly kind: 'timed-out'; readonly limitMs: number } & ProgramOutput)
  | ({ readonly kind: 'too-much-output'; readonly limitBytes: number } & ProgramOutput)
  /** `ENOENT` if the program does not exist. */
  | ({ readonly kind: 'not-started'; readonly code: string } & ProgramOutput);

/** How long to wait for output after the program exits, in case a child holds its pipes. */
const drainLimitMs = 1_000;

export function runProgram(line: CommandLine, options: ProgramRunOptions): Promise<ProgramEnd> {
  const { clock, limitMs, signal, env, outputLimitBytes, input, files = [] } = options;
  return new Promise((resolve, reject) => {
    throwIfCancelled(signal);
    let child: ChildProcess;
    try {
      const stdin = input === undefined ? 'ignore' : 'pipe';
      child = startProgram(line, { env, stdio: [stdin, 'pipe', 'pipe', ...files] });
    } catch (error) {
      resolve({ kind: 'not-started', code: codeOf(error), stdout: '', stderr: '' });
      return;
    }
    const stdout = new BoundedProgramOutput(outputLimitBytes);
    const stderr = new BoundedProgramOutput(outputLimitBytes);
    let hasEnded = false;
    let drain: ReturnType<Clock['setTimer']> | undefined;
    const finish = (settle: () => void): void => {
      timer.cancel();
      drain?.cancel();
      signal?.removeEventListener('abort', onAbort);
      if (!hasEnded) killProgram(child);
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy();
      // A killed program may wait for a disk and not die; it must not keep the agent alive.
      child.unref();
      settle();
    };
    const end = (how: WithoutOutput<ProgramEnd>): void =>
      finish(() => resolve({ ...how, stdout: stdout.text(), stderr: stderr.text() }));
    const onAbort = (): void => finish(() => reject(new Cancelled()));
    const timer = clock.setTimer(limitMs, () => end({ kind: 'timed-out', limitMs }));
    signal?.addEventListener('abort', onAbort, { once: true });
    const collect = (stream: Readable | null, output: BoundedProgramOutput): void => {
      stream?.on('data', (chunk: Buffer) => {
        if (!output.add(chunk)) end({ kind: 'too-much-output', limitBytes: outputLimitBytes });
      });
    };
    collect(child.stdout, stdout);
    collect(child.stderr, stderr);
    child.once('error', (error) => {
      hasEnded = child.pid === undefined;
      end({ kind: 'not-started', code: codeOf(error) });
    });
    child.once('exit', (exitCode, by) => {
      hasEnded = true;
      const told = (): void =>
        end(exitCode === null ? { kind: 'killed', by: by ?? 'a signal' } : { kind: 'exited', exitCode });
      drain = clock.setTimer(drainLimitMs, told);
      child.once('close', told);
    });
    // A program may exit without reading its input; its exit says enough.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
  });
}

type WithoutOutput<End> = End extends ProgramEnd ? Omit<End, keyof ProgramOutput> : never;

/** How a program ended, without its output or arguments: both may be secret. */
export function endText(end: ProgramEnd): string {
  switch (end.kind) {
    case 'exited':
      return `exit status ${end.exitCode}`;
    case 'killed':
      return `killed by ${end.by}`;
    case 'timed-out':
      return `did not end within ${end.limitMs / 1000}s`;
    case 'too-much-output':
      return `more than ${end.limitBytes} bytes of output`;
    case 'not-started':
      return end.code === 'ENOENT' ? 'no such program (ENOENT)' : `it could not be started (${end.code})`;
  }
}

/** Streams a program's output until the program ends or the signal, which is its limit, aborts. */
export async function streamProgram(
  line: CommandLine,
  options: {
    readonly env: ProgramEnvironment;
    readonly signal: AbortSignal;
    /** Receives stdout and stderr; the program blocks meanwhile. */
    readonly write: (chunk: Buffer) => Promise<void>;
  },
): Promise<void> {
  const { env, signal, write } = options;
  throwIfCancelled(signal);
  const child = startProgram(line, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let hasEnded = false;
  const ended = new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', () => {
      hasEnded = true;
    });
    child.once('close', () => resolve());
  });
  // The last await reports the error, whichever of the two fails first.
  ended.catch(() => undefined);
  const kill = (): void => {
    if (!hasEnded) killProgram(child);
    child.stdout?.destroy(new Cancelled());
    child.stderr?.destroy(new Cancelled());
  };
  const forward = async (stream: Readable | null): Promise<void> => {
    for await (const chunk of stream ?? []) await write(chunk as Buffer);
  };
  signal.addEventListener('abort', kill, { once: true });
  try {
    await Promise.all([forward(child.stdout), forward(child.stderr)]);
    await ended;
  } finally {
    signal.removeEventListener('abort', kill);
    kill();
  }
}

/** The output of a quick program, undefined if it fails. Blocks the event loop. */
export function runProgramSync(
  { program, words }: CommandLine,
  { env, limitMs, outputLimitBytes }: Pick<ProgramRunOptions, 'env' | 'limitMs' | 'outputLimitBytes'>,
): string | undefined {
  const { status, stdout } = spawnSync(program, [...words], {
    cwd: '/',
    env: { ...env },
    timeout: limitMs,
    killSignal: 'SIGKILL',
    maxBuffer: outputLimitBytes,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return status === 0 ? stdout : undefined;
}

class BoundedProgramOutput {
  readonly #chunks: Buffer[] = [];
  readonly #limitBytes: number;
  #sizeBytes = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** Returns whether the whole chunk fits. */
  add(chunk: Buffer): boolean {
    const kept = chunk.subarray(0, this.#limitBytes - this.#sizeBytes);
    this.#chunks.push(kept);
    this.#sizeBytes += kept.length;
    return kept.length === chunk.length;
  }

  text(): string {
    return Buffer.concat(this.#chunks).toString('utf8');
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown';
}
