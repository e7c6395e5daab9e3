/** Runs `nodelet` as a user does: in a terminal or without one, with directories of its own. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { pollUntil } from '../env/index.js';
import { Screen } from './screen.js';

const project = fileURLToPath(new URL('../..', import.meta.url));
/** Another build than the project's own may be tested. */
export const bundle = process.env.NODELET_BUNDLE ?? path.join(project, 'dist/nodelet.js');
export const examples = path.join(project, 'examples');
const patienceMs = 60_000;

export interface CommandOptions {
  /** Holds the state of the runs of one test. */
  readonly stateDir: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  readonly terminal?: { readonly columns: number; readonly rows: number };
  /** Run as this user. */
  readonly uid?: number;
  /** The program; the project's own by default. */
  readonly program?: string;
  /** A program and its arguments that run the command. */
  readonly prefix?: readonly string[];
}

export class Command {
  readonly screen: Screen;
  stdout = '';
  stderr = '';
  readonly #program: string;
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;

  constructor(args: readonly string[], options: CommandOptions) {
    const { stateDir, terminal, uid, program = bundle } = options;
    this.#program = program;
    const env = { ...process.env, NO_COLOR: '', TERM: 'xterm', NODELET_STATE_DIR: stateDir, ...options.env };
    this.screen = new Screen(terminal?.columns ?? 80, terminal?.rows ?? 24);
    const argv = [...(options.prefix ?? []), process.execPath, program, ...args];
    const [file = '', ...rest] =
      terminal === undefined ? argv : ['script', '-qfec', inTerminal(argv, terminal), '/dev/null'];
    this.#child = spawn(file, rest, { env, ...(uid === undefined ? {} : { uid, gid: uid }) });
    this.#exited = once(this.#child, 'close');
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
      this.screen.write(text);
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
    if (options.input !== undefined) this.#child.stdin?.end(options.input);
  }

  get output(): string {
    return this.stdout + this.stderr;
  }

  /** The process of nodelet itself, also behind `script`. */
  get pid(): number {
    const own = this.#child.pid ?? 0;
    const below = descendants(own).find((pid) => commandLine(pid)[1] === this.#program);
    return below ?? own;
  }

  /** Waits for words on the screen or among the lines. */
  async until(what: string | RegExp | ((command: this) => boolean)): Promise<void> {
    await pollUntil(
      `nodelet shows ${String(what)}`,
      () => {
        const shown = this.screen.lines.join('\n') + this.stderr;
        const isThere =
          typeof what === 'function'
            ? what(this)
            : typeof what === 'string'
              ? shown.includes(what)
              : what.test(shown);
        return isThere ? true : undefined;
      },
      { timeoutMs: patienceMs, detail: () => `${this.screen.lines.join('\n')}\n${this.stderr}` },
    );
  }

  /** Types on the terminal. */
  type(keys: string): void {
    this.#child.stdin?.write(keys);
  }

  signal(name: NodeJS.Signals): void {
    process.kill(this.pid, name);
  }

  resize(columns: number, rows: number): void {
    const tty = readlinkSync(`/proc/${this.pid}/fd/0`);
    spawnSync('stty', ['-F', tty, 'cols', String(columns), 'rows', String(rows)]);
    this.screen.columns = columns;
    this.screen.rows = rows;
  }

  async exitCode(): Promise<number | null> {
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), patienceMs);
    await this.#exited;
    clearTimeout(timer);
    return this.#child.exitCode;
  }
}

function inTerminal(argv: readonly string[], { columns, rows }: { columns: number; rows: number }): string {
  const quoted = argv.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
  return `stty cols ${columns} rows ${rows}; exec ${quoted}`;
}

function descendants(pid: number): number[] {
  const text = existsSync(`/proc/${pid}/task/${pid}/children`)
    ? readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    : '';
  const children = text.split(' ').filter(Boolean).map(Number);
  return [...children, ...children.flatMap(descendants)];
}

function commandLine(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    return [];
  }
}

/** The process with this command line; undefined when there is none. */
export function pidOf(argv: readonly string[]): number | undefined {
  const wanted = [...argv, ''].join('\0');
  return readdirSync('/proc')
    .map(Number)
    .find((pid) => pid > 0 && commandLine(pid).join('\0') === wanted);
}

/** What runs left below their directory; nothing when all went well. */
export function leftovers(stateDir: string): string[] {
  return existsSync(stateDir) ? readdirSync(stateDir, { recursive: true }).map(String) : [];
}

/** Processes whose environment or arguments name the directory. */
export function processesOf(stateDir: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => commandLine(Number(pid)).some((word) => word.includes(stateDir)))
    .map((pid) => `${pid} ${commandLine(Number(pid)).join(' ')}`);
}
