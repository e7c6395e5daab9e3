/** kubectl as a person holds it in a terminal or a pipe: fed while it runs, watched while it speaks, cut off when enough is known. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { systemEnvironment } from '../env/command.js';
import { controlPlaneProgram } from '../env/control-plane-binaries.js';
import { pollUntil } from '../env/index.js';

/** Whose API it speaks to: a cluster's, or a node's of its own. */
export interface KubectlTarget {
  readonly plane: { readonly adminKubeconfig: string };
}

/** How kubectl and the API server speak for streams. */
export type StreamProtocol = 'WebSocket' | 'SPDY';
export const streamProtocols: readonly StreamProtocol[] = ['WebSocket', 'SPDY'];

export interface KubectlOptions {
  readonly input?: string | Buffer;
  /** Leaves standard input open after `input`. */
  readonly keepInputOpen?: boolean;
  readonly protocol?: StreamProtocol;
  /** In a terminal of its own. */
  readonly tty?: boolean;
  /** The shell's words before kubectl runs in the terminal. */
  readonly ttySetup?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Nobody takes what it prints, so that it stops to print after a while. */
  readonly unread?: boolean;
}

export interface KubectlEnd {
  readonly exitCode: number | null;
  readonly stdout: Buffer;
  readonly text: string;
  readonly stderr: string;
}

const endTimeoutMs = 120_000;

export async function startKubectl(
  { plane }: KubectlTarget,
  args: readonly string[],
  options: KubectlOptions = {},
): Promise<KubectlProcess> {
  const { protocol = 'WebSocket', tty = false, ttySetup = 'true' } = options;
  const kubectl = await controlPlaneProgram('kubectl');
  const env = systemEnvironment({
    KUBECONFIG: plane.adminKubeconfig,
    KUBECTL_REMOTE_COMMAND_WEBSOCKETS: String(protocol === 'WebSocket'),
    KUBECTL_PORT_FORWARD_WEBSOCKETS: String(protocol === 'WebSocket'),
    TERM: 'xterm',
    ...options.env,
  });
  const words = [kubectl, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
  const child = tty
    ? spawn('script', ['-qefc', `${ttySetup}; exec ${words}`, '/dev/null'], { env })
    : spawn(kubectl, args, { env });
  const { input = '', keepInputOpen = tty } = options;
  // A program that ends without reading its input closes the pipe; its exit code tells the story.
  child.stdin.on('error', () => {});
  if (keepInputOpen) child.stdin.write(input);
  else child.stdin.end(input);
  return new KubectlProcess(child, args.join(' '), options.unread);
}

/** Runs it to its end, whatever that is. */
export async function runKubectl(
  cluster: KubectlTarget,
  args: readonly string[],
  options: KubectlOptions = {},
): Promise<KubectlEnd> {
  return (await startKubectl(cluster, args, options)).end();
}

export class KubectlProcess {
  readonly #child: ChildProcess;
  readonly #what: string;
  readonly #stdout: Buffer[] = [];
  readonly #stderr: Buffer[] = [];
  readonly #closed: Promise<unknown>;

  constructor(child: ChildProcess, what: string, unread = false) {
    this.#child = child;
    this.#what = what;
    if (!unread) child.stdout?.on('data', (chunk: Buffer) => this.#stdout.push(chunk));
    child.stderr?.on('data', (chunk: Buffer) => this.#stderr.push(chunk));
    this.#closed = once(child, 'close');
  }

  get text(): string {
    return Buffer.concat(this.#stdout).toString();
  }

  get stderr(): string {
    return Buffer.concat(this.#stderr).toString();
  }

  write(text: string): void {
    this.#child.stdin?.write(text);
  }

  endInput(): void {
    this.#child.stdin?.end();
  }

  /** Waits until it has printed what is wanted, and returns the match. */
  untilSays(wanted: RegExp, timeoutMs = 60_000): Promise<RegExpMatchArray> {
    return pollUntil(
      `kubectl ${this.#what} says ${wanted}`,
      () => {
        const found = `${this.text}${this.stderr}`.match(wanted);
        if (found === null && this.#child.exitCode !== null) {
          throw new Error(`kubectl ${this.#what} ended without ${wanted}:\n${this.text}${this.stderr}`);
        }
        return found ?? undefined;
      },
      { timeoutMs, intervalMs: 20, detail: () => `${this.text}${this.stderr}` },
    );
  }

  /** Waits for its end. */
  async end(timeoutMs = endTimeoutMs): Promise<KubectlEnd> {
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      this.#child.kill('SIGKILL');
    }, timeoutMs);
    await this.#closed;
    clearTimeout(timer);
    if (late) throw new Error(`kubectl ${this.#what} did not end:\n${this.text}${this.stderr}`);
    const stdout = Buffer.concat(this.#stdout);
    return { exitCode: this.#child.exitCode, stdout, text: stdout.toString(), stderr: this.stderr };
  }

  /** Takes it away in the middle of whatever it does. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    this.#child.stdout?.destroy();
    await this.#closed;
  }

  /** As a person who has seen enough. */
  async interrupt(): Promise<KubectlEnd> {
    this.#child.kill('SIGINT');
    return this.end(10_000);
  }
}
