/**
 * Runs commands through shells that wait for them: to start a process copies much of what the starting one has, which takes
 * an agent milliseconds and a shell next to nothing.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { constants } from 'node:os';
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

/** Those that wait for the next command, beyond which a shell ends with its command. */
const maxIdle = 4;
const idleMs = 10_000;
const signalNames = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]));

/**
 * Undefined on success. A command that does not end in time is killed and not waited for: in an uninterruptible
 * sleep, as with a file server that is away, it would not even end by that.
 */
export function runInShell(run: CommandRun): Promise<CommandFailure | undefined> {
  const { clock, signal, limitMs } = run;
  return new Promise((resolve, reject) => {
    throwIfCancelled(signal);
    const words = [run.command, ...run.arguments];
    if (words.some((word) => word.includes('\0'))) {
      resolve({ status: 'a NUL byte in an argument', output: '', timedOut: false });
      return;
    }
    const shell = idle.pop() ?? new Shell();
    const release = (): void => {
      timer.cancel();
      signal?.removeEventListener('abort', onAbort);
    };
    const onAbort = (): void => {
      release();
      shell.kill();
      reject(new Cancelled());
    };
    const timer = clock.setTimer(limitMs, () => {
      release();
      const { output } = shell;
      shell.kill();
      resolve({ status: `no end within ${limitMs / 1000}s`, output, timedOut: true });
    });
    signal?.addEventListener('abort', onAbort, { once: true });
    shell.run(words, (end) => {
      release();
      if ('code' in end) shell.rest();
      if ('code' in end && end.code === 0) resolve(undefined);
      else resolve({ status: statusOf(end), output: end.output, timedOut: false });
    });
  });
}

type End = { readonly output: string } & ({ readonly code: number } | { readonly failure: string });

const idle: Shell[] = [];

class Shell {
  readonly #process: ChildProcess;
  /** No command prints this. */
  readonly #mark = `\n${randomUUID()} `;
  #text = '';
  #done: ((end: End) => void) | undefined;
  #idleTimer: NodeJS.Timeout | undefined;

  constructor() {
    // In a group of its own, so that it can be killed with the command that it runs.
    this.#process = spawn('/bin/sh', [], {
      stdio: ['pipe', 'pipe', 'ignore'],
      detached: true,
    });
    this.#process.on('error', (error) => this.#ended(error.message));
    this.#process.on('exit', (code, killedBy) => this.#ended(`the shell ended with ${killedBy ?? code}`));
    // What it says of a shell that ended is said by its end.
    this.#process.stdin?.on('error', () => undefined);
    this.#process.stdout?.on('data', (chunk: Buffer) => this.#read(chunk));
  }

  /** What the command has said so far. */
  get output(): string {
    return this.#text.slice(0, outputLimitBytes);
  }

  /** `done` is called once, unless it is killed before. */
  run(words: readonly string[], done: (end: End) => void): void {
    clearTimeout(this.#idleTimer);
    this.#hold(true);
    this.#text = '';
    this.#done = done;
    // Failures are told by words, which must not be in the user's language.
    const path = process.env.PATH ?? '/usr/sbin:/usr/bin:/sbin:/bin';
    const command = `PATH=${quoted(path)} LC_ALL=C ${words.map(quoted).join(' ')}`;
    this.#process.stdin?.write(`${command} 2>&1 </dev/null; printf '${this.#mark}%d\\n' $?\n`);
  }

  /** Waits for the next command, or ends. */
  rest(): void {
    if (idle.length >= maxIdle) {
      this.#process.stdin?.end();
      return;
    }
    idle.push(this);
    this.#hold(false);
    this.#idleTimer = setTimeout(() => this.#leave(), idleMs);
    this.#idleTimer.unref();
  }

  kill(): void {
    this.#done = undefined;
    const { pid } = this.#process;
    this.#hold(false);
    try {
      if (pid !== undefined) process.kill(-pid, 'SIGKILL');
    } catch (error) {
      // It ended by itself a moment ago.
      if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
    }
  }

  #leave(): void {
    const place = idle.indexOf(this);
    if (place >= 0) idle.splice(place, 1);
    this.#process.stdin?.end();
  }

  /** Whether this process must not end before it. */
  #hold(isBusy: boolean): void {
    for (const part of [this.#process, this.#process.stdin, this.#process.stdout]) {
      // Pipes are sockets, whose types say less than they can do.
      const holder = part as { ref?(): void; unref?(): void } | null;
      if (isBusy) holder?.ref?.();
      else holder?.unref?.();
    }
  }

  #read(chunk: Buffer): void {
    this.#text += chunk.toString('utf8');
    const mark = this.#text.lastIndexOf(this.#mark);
    if (mark < 0 || !this.#text.endsWith('\n')) {
      // As much of the beginning as is told of, and of the end as may be a part of the mark.
      if (this.#text.length > 2 * outputLimitBytes) {
        this.#text = this.#text.slice(0, outputLimitBytes) + this.#text.slice(-outputLimitBytes);
      }
      return;
    }
    const code = Number(this.#text.slice(mark + this.#mark.length));
    this.#finish({ code, output: this.#text.slice(0, Math.min(mark, outputLimitBytes)) });
  }

  #ended(failure: string): void {
    this.#leave();
    this.#finish({ failure, output: this.output });
  }

  #finish(end: End): void {
    const done = this.#done;
    this.#done = undefined;
    done?.(end);
  }
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** A shell tells a signal by a number above 128. */
function statusOf(end: End): string {
  if ('failure' in end) return end.failure;
  const killedBy = signalNames.get(end.code - 128);
  return killedBy === undefined ? `exit status ${end.code}` : `signal: ${killedBy}`;
}
