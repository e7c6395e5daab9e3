/** The program under measurement: builds `nodelet` and runs its agent as a process of its own, in directories of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pollUntil, runCommand, type TestContainerd } from '../test/env/index.js';

const projectDir = fileURLToPath(new URL('..', import.meta.url));
const stopTimeoutMs = 15_000;
/** Ticks per second of the times in /proc, fixed by the kernel's interface. */
const procTicksPerSecond = 100;
const shownLines = 15;

/** Builds the program as it is shipped and copies it to `scratchDir`, where nobody builds anew while it is measured. */
export async function buildAgent(scratchDir: string, note: (text: string) => void): Promise<string> {
  const bundle = join(projectDir, 'dist', 'nodelet.js');
  const startMs = Date.now();
  try {
    await runCommand('npm', ['--prefix', projectDir, 'run', '--silent', 'build'], { timeoutMs: 120_000 });
  } catch (error) {
    // Type declarations come last; without them the program is still the one to measure.
    const isFresh = existsSync(bundle) && statSync(bundle).mtimeMs >= startMs - 1_000;
    if (!isFresh) throw error;
    note('the build did not end well, but the program was written and is measured');
  }
  for (const directory of ['bin', 'dist']) {
    cpSync(join(projectDir, directory), join(scratchDir, directory), { recursive: true });
  }
  // Without it Node would not take the program for a module.
  cpSync(join(projectDir, 'package.json'), join(scratchDir, 'package.json'));
  return join(scratchDir, 'bin', 'nodelet');
}

/** As nodes have it; without one every pod is warned of. */
export const nodeDns = { clusterDNS: ['10.96.0.10'], clusterDomain: 'cluster.local' };

export interface AgentOptions {
  readonly program: string;
  readonly containerd: TestContainerd;
  /** A directory for all that this agent writes; the manifests are in `manifests` below it. */
  readonly dir: string;
  /** Where its metrics are served on loopback; 0 for nowhere. */
  readonly metricsPort?: number;
  /** For Node itself, as `--cpu-prof`. */
  readonly nodeFlags?: readonly string[];
}

export interface LogLine {
  readonly what: string;
  readonly msg: string;
  /** When the agent wrote it, by the clock of this machine. */
  readonly timeMs: number;
}

/** The agent has seen its runtime and works on pods from now on. */
export const syncsPods = ({ what, msg }: LogLine): boolean =>
  what === 'loop.gate' && msg === 'Pods are synchronized';

/** A sync of a pod has decided what to do. */
export const plansPod = ({ what }: LogLine): boolean => what === 'pod.plan';

export function manifestsDirOf(dir: string): string {
  return join(dir, 'manifests');
}

export class Agent {
  readonly manifestsDir: string;
  /** By the clock of this machine. */
  readonly spawnedAtMs: number;
  readonly #options: AgentOptions;
  readonly #process: ChildProcess;
  readonly #logFile: string;
  readonly #exited: Promise<unknown>;

  constructor(options: AgentOptions) {
    const { program, containerd, dir, nodeFlags = [] } = options;
    this.#options = options;
    this.manifestsDir = manifestsDirOf(dir);
    mkdirSync(this.manifestsDir, { recursive: true });
    makeCgroup(containerd.cgroupParent);
    const config = join(dir, 'config.json');
    writeFileSync(config, JSON.stringify(this.#configuration()));
    const args = [
      'agent',
      '--config',
      config,
      '--root-dir',
      join(dir, 'root'),
      '--device-plugin-dir',
      join(dir, 'devices'),
      '--container-logs-dir',
      join(dir, 'links'),
      '--hostname-override',
      'bench',
    ];
    this.spawnedAtMs = Date.now();
    // As users start it, with the flags that it asks Node for itself.
    const [command, ...first] =
      nodeFlags.length === 0 ? [program] : [process.execPath, ...nodeFlags, program];
    if (command === undefined) throw new Error('there is no program to start');
    // Into a file: a reader at the end of a pipe would wake up for every write, on the cores that are measured.
    this.#logFile = join(dir, 'agent.log');
    const log = openSync(this.#logFile, 'a');
    this.#process = spawn(command, [...first, ...args], { cwd: dir, stdio: ['ignore', 'ignore', log] });
    closeSync(log);
    this.#exited = once(this.#process, 'exit');
    // A failure to start is told by whoever waits for a line of the log.
    this.#exited.catch(() => undefined);
  }

  #lines(): string[] {
    return readFileSync(this.#logFile, 'utf8').split('\n').slice(0, -1);
  }

  #configuration(): Record<string, unknown> {
    const { containerd, dir, metricsPort = 0 } = this.#options;
    return {
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      containerRuntimeEndpoint: containerd.endpoint,
      staticPodPath: this.manifestsDir,
      ...nodeDns,
      podLogsDir: join(dir, 'logs', 'pods'),
      cgroupRoot: containerd.cgroupParent,
      failCgroupV1: false,
      // There is no API server to ask.
      authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
      authorization: { mode: 'AlwaysAllow' },
      address: '127.0.0.1',
      readOnlyPort: metricsPort,
      healthzPort: 0,
      logging: { format: 'json' },
    };
  }

  get pid(): number {
    const { pid } = this.#process;
    if (pid === undefined) throw new Error('the agent could not be started');
    return pid;
  }

  /** The first line of the log that is as wanted. */
  line(what: string, wanted: (line: LogLine) => boolean, timeoutMs = 15_000): Promise<LogLine> {
    return pollUntil(
      `the agent logs ${what}`,
      () => {
        const found = this.#find(wanted);
        const { exitCode } = this.#process;
        if (found === undefined && exitCode !== null) {
          throw new Error(`the agent ended with ${exitCode}:\n${this.#lastLines()}`);
        }
        return found;
      },
      { timeoutMs, intervalMs: 20, detail: () => this.#lastLines() },
    );
  }

  #find(wanted: (line: LogLine) => boolean): LogLine | undefined {
    for (const text of this.#lines()) {
      if (!text.startsWith('{')) continue;
      const { what, msg, ts }: Record<string, unknown> = JSON.parse(text);
      const line = { what: String(what), msg: String(msg), timeMs: Date.parse(String(ts)) };
      if (wanted(line)) return line;
    }
    return undefined;
  }

  #lastLines(): string {
    return this.#lines().slice(-shownLines).join('\n');
  }

  /** The last lines that tell of something wrong, for a bench that did not go as it should. */
  problems(): string {
    const lines = this.#lines().filter((line) => /"level":"(warn|error)"/.test(line));
    return lines.slice(-shownLines).join('\n');
  }

  /** The sum of a metric over all its labels. */
  async metric(name: string): Promise<number> {
    const response = await fetch(`http://127.0.0.1:${this.#options.metricsPort}/metrics`);
    const lines = (await response.text()).split('\n').filter((line) => /^[^#{ ]+/.exec(line)?.[0] === name);
    return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
  }

  /** CPU time used since its start. */
  cpuMs(): number {
    return processCpuMs(this.pid);
  }

  rssBytes(): number {
    return processRssBytes(this.pid);
  }

  /** Containers keep running; removing them is the caller's. */
  async stop(): Promise<void> {
    const { pid, exitCode, signalCode } = this.#process;
    if (pid === undefined || exitCode !== null || signalCode !== null) return;
    this.#process.kill('SIGTERM');
    const killer = setTimeout(() => this.#process.kill('SIGKILL'), stopTimeoutMs);
    await this.#exited;
    clearTimeout(killer);
  }
}

/** CPU time of all threads of a process, children left out. */
export function processCpuMs(pid: number): number {
  return cpuMs(pid, [11, 12]);
}

/** That of its threads, to the nanosecond (a rest of seconds has but a few ticks), and of the children which have ended. */
export function processTreeCpuMs(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`).map((id) => threadCpuMs(pid, id));
  return threads.reduce((sum, ms) => sum + ms, 0) + cpuMs(pid, [13, 14]);
}

function threadCpuMs(pid: number, id: string): number {
  try {
    const [runNanoseconds] = readFileSync(`/proc/${pid}/task/${id}/schedstat`, 'utf8').split(' ');
    return Number(runNanoseconds) / 1e6;
  } catch (error) {
    // A thread may end while they are looked at, but not the first one.
    if (id === String(pid)) throw error;
    return 0;
  }
}

function cpuMs(pid: number, fields: readonly number[]): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const values = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = fields.reduce((sum, field) => sum + Number(values[field]), 0);
  return (ticks * 1000) / procTicksPerSecond;
}

export function processRssBytes(pid: number): number {
  const found = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  if (found === null) throw new Error(`process ${pid} has no memory; it has ended`);
  return Number(found[1]) * 1024;
}

/** An agent's root cgroup must exist; the test environment removes it with the containerd that it belongs to. */
export function makeCgroup(cgroup: string): void {
  const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n');
  for (const [, mountPoint = '', fsType] of mounts.map((line) => line.split(' '))) {
    if (fsType === 'cgroup' || fsType === 'cgroup2') mkdirSync(join(mountPoint, cgroup), { recursive: true });
  }
}
