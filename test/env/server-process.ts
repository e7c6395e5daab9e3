/** A server in a process of its own: started with a log file, found by its pid, gone with the process that started it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { lastLines, systemEnvironment } from './command.js';
import { pollUntil } from './poll.js';
import { signalProcess } from './processes.js';

export interface ServerProcessOptions {
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly logPath: string;
  /** Whether it answers; asked until it does. */
  readonly isReady: () => Promise<boolean>;
  readonly startTimeoutMs: number;
  readonly env?: Readonly<Record<string, string>>;
}

const stopTimeoutMs = 20_000;

export class ServerProcess {
  readonly #options: ServerProcessOptions;
  #child: ChildProcess | undefined;

  constructor(options: ServerProcessOptions) {
    this.#options = options;
  }

  /** `undefined` while it is down. */
  get pid(): number | undefined {
    return this.isRunning ? this.#child?.pid : undefined;
  }

  get isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  logs(): string {
    const { logPath } = this.#options;
    return existsSync(logPath) ? readFileSync(logPath, 'utf8') : '';
  }

  /** Starts it if it is down and returns when it answers. */
  async start(): Promise<void> {
    if (this.isRunning) return;
    const { program, args, logPath, env, name, isReady, startTimeoutMs } = this.#options;
    const log = openSync(logPath, 'a');
    const child = spawn('setpriv', ['--pdeathsig', 'KILL', program, ...args], {
      stdio: ['ignore', log, log],
      env: systemEnvironment(env),
      detached: true,
    });
    closeSync(log);
    child.unref();
    this.#child = child;
    try {
      await pollUntil(
        `${name} answers`,
        async () => {
          if (child.exitCode !== null || child.signalCode !== null) {
            throw new Error(`${name} ended at its start:\n${lastLines(this.logs(), 30)}`);
          }
          return (await isReady()) ? true : undefined;
        },
        { timeoutMs: startTimeoutMs, intervalMs: 50, detail: () => lastLines(this.logs(), 30) },
      );
    } catch (error) {
      await this.kill();
      throw error;
    }
  }

  /** Without asking it. */
  kill(): Promise<void> {
    return this.end('SIGKILL');
  }

  /** Asks it to end, and insists when it does not. */
  stop(): Promise<void> {
    return this.end('SIGTERM');
  }

  /** Sends a signal that should end it, waits for that, and insists when it does not. */
  async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const { pid } = child;
    child.ref();
    const exited = once(child, 'exit');
    signalProcess(pid, signal);
    const insist = setTimeout(() => signalProcess(pid, 'SIGKILL'), stopTimeoutMs);
    await exited;
    clearTimeout(insist);
  }
}
