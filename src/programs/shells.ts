/**
 * Runs programs through waiting shells: starting a process copies much of its parent's memory map, which
 * costs the agent milliseconds and a shell almost nothing.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { availableParallelism, constants } from 'node:os';
import { StringDecoder } from 'node:string_decoder';
import { Cancelled, type Clock, throwIfCancelled } from '../async/clock.js';
import { YieldingSemaphore } from '../async/yielding-semaphore.js';
import type { CommandLine } from './command-line.js';
import { programPath } from './environment.js';

/** How a program failed. */
export interface ProgramFailure {
  /** `exit status 32`, `signal: SIGKILL`, `did not end within 60s` … */
  readonly status: string;
  /** Undefined if the program did not exit by itself. */
  readonly exitCode: number | undefined;
  /** Both outputs, truncated. */
  readonly output: string;
  readonly timedOut: boolean;
}

export interface ShellRunOptions {
  /** A program that runs longer is killed with its process group. */
  readonly limitMs: number;
  readonly signal?: AbortSignal | undefined;
}

const outputLimitBytes = 16 * 1024;

/** Idle shells to keep, and programs that run at once unless some are slow: more would not end sooner. */
const shellCount = availableParallelism() + 2;
/** A program that runs longer mostly waits, such as for a file server; others no longer wait for it. */
const patienceMs = 250;
const idleMs = 10_000;
const signalNames = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]));

export class Shells {
  readonly #clock: Clock;
  readonly #idle: Shell[] = [];
  readonly #turns: YieldingSemaphore;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#turns = new YieldingSemaphore({ clock, width: shellCount, patienceMs });
  }

  /**
   * Undefined on success. A program that exceeds its limit is killed and not awaited: in an uninterruptible
   * sleep, such as on a lost file server, even a kill does not end it. Its limit begins with its turn.
   */
  run(line: CommandLine, options: ShellRunOptions): Promise<ProgramFailure | undefined> {
    const { signal } = options;
    return this.#turns.run(() => this.#run(line, options), signal === undefined ? {} : { signal });
  }

  #run(line: CommandLine, { limitMs, signal }: ShellRunOptions): Promise<ProgramFailure | undefined> {
    return new Promise((resolve, reject) => {
      throwIfCancelled(signal);
      const shell = this.#idle.pop() ?? new Shell((gone) => this.#forget(gone));
      const release = (): void => {
        timer.cancel();
        signal?.removeEventListener('abort', onAbort);
      };
      const onAbort = (): void => {
        release();
        shell.kill();
        reject(new Cancelled());
      };
      const timer = this.#clock.setTimer(limitMs, () => {
        release();
        const { output } = shell;
        shell.kill();
        const status = `did not end within ${limitMs / 1000}s`;
        resolve({ status, exitCode: undefined, output, timedOut: true });
      });
      signal?.addEventListener('abort', onAbort, { once: true });
      shell.run([line.program, ...line.words], (end) => {
        release();
        if ('code' in end) this.#rest(shell);
        resolve(failureOf(end));
      });
    });
  }

  #rest(shell: Shell): void {
    if (this.#idle.length >= shellCount) {
      shell.end();
      return;
    }
    this.#idle.push(shell);
    shell.rest(() => {
      this.#forget(shell);
      shell.end();
    });
  }

  #forget(shell: Shell): void {
    const place = this.#idle.indexOf(shell);
    if (place >= 0) this.#idle.splice(place, 1);
  }
}

type ShellEnd = { readonly output: string } & ({ readonly code: number } | { readonly failure: string });

class Shell {
  readonly #process: ChildProcess;
  readonly #decoder = new StringDecoder('utf8');
  /** Random, so no program prints it. */
  readonly #mark = `\n${randomUUID()} `;
  #text = '';
  #done: ((end: ShellEnd) => void) | undefined;
  #idleTimer: NodeJS.Timeout | undefined;

  constructor(onGone: (shell: Shell) => void) {
    // Its own process group, so that a kill reaches the program, too.
    this.#process = spawn('/bin/sh', [], {
      stdio: ['pipe', 'pipe', 'ignore'],
      detached: true,
      cwd: '/',
      // Failures are parsed by their text, so the locale is fixed.
      env: { LC_ALL: 'C' },
    });
    const ended = (failure: string): void => {
      onGone(this);
      this.#finish({ failure, output: this.output });
    };
    this.#process.on('error', (error) => ended(error.message));
    this.#process.on('exit', (code, killedBy) => ended(`the shell ended with ${killedBy ?? code}`));
    // The exit event reports a shell that ended.
    this.#process.stdin?.on('error', () => undefined);
    this.#process.stdout?.on('data', (chunk: Buffer) => this.#read(chunk));
  }

  /** The program's output so far. */
  get output(): string {
    return this.#text.slice(0, outputLimitBytes);
  }

  /** `done` is called once, unless the shell is killed first. */
  run(words: readonly string[], done: (end: ShellEnd) => void): void {
    clearTimeout(this.#idleTimer);
    this.#hold(true);
    this.#text = '';
    this.#done = done;
    const command = `PATH=${quoted(programPath())} ${words.map(quoted).join(' ')}`;
    this.#process.stdin?.write(`${command} 2>&1 </dev/null; printf '${this.#mark}%d\\n' $?\n`);
  }

  /** Waits for the next program; calls `onLimit` if none comes. */
  rest(onLimit: () => void): void {
    this.#hold(false);
    this.#idleTimer = setTimeout(onLimit, idleMs);
    this.#idleTimer.unref();
  }

  /** Ends an idle shell. */
  end(): void {
    this.#process.stdin?.end();
  }

  kill(): void {
    this.#done = undefined;
    const { pid } = this.#process;
    this.#hold(false);
    try {
      if (pid !== undefined) process.kill(-pid, 'SIGKILL');
    } catch (error) {
      // The shell has just exited by itself.
      if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
    }
  }

  /** Whether the agent must outlive the shell. */
  #hold(isBusy: boolean): void {
    for (const part of [this.#process, this.#process.stdin, this.#process.stdout]) {
      // Pipes are sockets, but their types lack `ref` and `unref`.
      const holder = part as { ref?(): void; unref?(): void } | null;
      if (isBusy) holder?.ref?.();
      else holder?.unref?.();
    }
  }

  #read(chunk: Buffer): void {
    this.#text += this.#decoder.write(chunk);
    const mark = this.#text.lastIndexOf(this.#mark);
    if (mark < 0 || !this.#text.endsWith('\n')) {
      // Only the beginning is shown; the end may be part of the mark.
      if (this.#text.length > 2 * outputLimitBytes) {
        this.#text = this.#text.slice(0, outputLimitBytes) + this.#text.slice(-outputLimitBytes);
      }
      return;
    }
    const code = Number(this.#text.slice(mark + this.#mark.length));
    this.#finish({ code, output: this.#text.slice(0, Math.min(mark, outputLimitBytes)) });
  }

  #finish(end: ShellEnd): void {
    const done = this.#done;
    this.#done = undefined;
    done?.(end);
  }
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

function failureOf(end: ShellEnd): ProgramFailure | undefined {
  const { output } = end;
  if ('failure' in end) return { status: end.failure, exitCode: undefined, output, timedOut: false };
  if (end.code === 0) return undefined;
  // A shell reports death by signal as 128 plus its number.
  const killedBy = signalNames.get(end.code - 128);
  return killedBy === undefined
    ? { status: `exit status ${end.code}`, exitCode: end.code, output, timedOut: false }
    : { status: `signal: ${killedBy}`, exitCode: undefined, output, timedOut: false };
}
