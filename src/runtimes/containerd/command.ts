/** Runs a program of the machine to its end and turns a failure into an error that shows what it said. */
import { execFile } from 'node:child_process';

export interface CommandResult {
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  /** Added to the environment of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** The program is killed after this time. Default: one minute. */
  readonly timeoutMs?: number;
  /** Written to standard input, which is then closed. */
  readonly input?: string | Buffer;
  /** Aborting kills the program. */
  readonly signal?: AbortSignal;
}

const maxOutputBytes = 32 * 1024 * 1024;
const shownLines = 15;

export class CommandError extends Error {
  override readonly name = 'CommandError';

  constructor(
    readonly command: string,
    readonly exitCode: number | undefined,
    readonly stdout: string,
    readonly stderr: string,
    cause: unknown,
  ) {
    const how = exitCode === undefined ? `did not finish (${String(cause)})` : `exited with ${exitCode}`;
    super(`${command}: ${how}\n${lastLines(`${stdout}\n${stderr}`, shownLines)}`, { cause });
  }
}

export function lastLines(text: string, count: number): string {
  return text.trim().split('\n').slice(-count).join('\n');
}

/** The environment for programs that live in, or themselves call others from, the system directories. */
export function systemEnvironment(extra: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const path = `${process.env.PATH ?? ''}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`;
  return { ...process.env, LC_ALL: 'C.UTF-8', PATH: path, ...extra };
}

export function runCommand(
  file: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    const child = execFile(
      file,
      args,
      {
        env: systemEnvironment(options.env),
        maxBuffer: maxOutputBytes,
        timeout: options.timeoutMs ?? 60_000,
        killSignal: 'SIGKILL',
        ...(options.signal === undefined ? {} : { signal: options.signal }),
      },
      (error, stdout, stderr) => {
        if (error === null) {
          resolve({ stdout, stderr });
          return;
        }
        const exitCode = typeof error.code === 'number' ? error.code : undefined;
        reject(new CommandError([file, ...args].join(' '), exitCode, stdout, stderr, error));
      },
    );
    // A program that ends without reading its input closes the pipe; its exit code tells the story.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(options.input ?? '');
  });
}
