/** `nodelet up` as a person starts it: a process with a state directory of its own, and kubectl at its API. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from '../env/addresses.js';
import { CommandError, runCommand } from '../env/command.js';
import { controlPlaneProgram } from '../env/control-plane-binaries.js';
import { pollUntil } from '../env/index.js';
import { removeTree } from '../env/mounts.js';

const binary = path.resolve(import.meta.dirname, '../../bin/nodelet');

export interface BareNodeFlags {
  readonly runtime: readonly string[];
  /** Of its own for each node that runs at the same time. */
  readonly serviceCidr?: string;
  /** Files and directories that it follows. */
  readonly manifests?: readonly string[];
  readonly agentFlags?: (stateDir: string) => readonly string[];
}

export interface KubectlAnswer {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export class BareNode {
  readonly stateDir = mkdtempSync(path.join(tmpdir(), 'bare-'));
  readonly #flags: BareNodeFlags;
  #ports: readonly number[] = [];
  #child: ChildProcess | undefined;
  #log = '';

  constructor(flags: BareNodeFlags) {
    this.#flags = flags;
  }

  get log(): string {
    return this.#log;
  }

  get kubeconfig(): string {
    return path.join(this.stateDir, 'kubeconfig');
  }

  /** For kubectl in a terminal or a pipe. */
  get plane(): { readonly adminKubeconfig: string } {
    return { adminKubeconfig: this.kubeconfig };
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  /** Resolves when the node is ready. */
  async start(): Promise<void> {
    if (this.#ports.length === 0) this.#ports = [await freePort(), await freePort()];
    const [port, kubeletPort] = this.#ports;
    const child = spawn(
      binary,
      [
        'up',
        ...(this.#flags.manifests ?? []),
        '--state-dir',
        this.stateDir,
        '--port',
        String(port),
        ...this.#flags.runtime,
        // Another node on the machine may have the usual range.
        '--service-cidr',
        this.#flags.serviceCidr ?? '10.113.0.0/24',
        '--',
        '--port',
        String(kubeletPort),
        '--healthz-port=0',
        ...(this.#flags.agentFlags?.(this.stateDir) ?? []),
      ],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    this.#child = child;
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        this.#log = `${this.#log}${chunk.toString()}`.slice(-1_000_000);
      });
    const probe = async (): Promise<true | undefined> => {
      if (child.exitCode !== null) throw new Error(`nodelet up ended:\n${this.#log.slice(-4000)}`);
      const nodes = await this.tryKubectl(
        'get',
        'nodes',
        '-o',
        'jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}',
      );
      return nodes.exitCode === 0 && nodes.stdout.trim() === 'True' ? true : undefined;
    };
    await pollUntil('the node is ready', probe, { timeoutMs: 60_000 });
  }

  /** Ends the process as a signal does, and leaves the pods. */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null)
      return child?.exitCode ?? null;
    const closed = once(child, 'close');
    child.kill(signal);
    await closed;
    return child.exitCode;
  }

  async tryKubectl(...args: readonly string[]): Promise<KubectlAnswer> {
    return this.#run(args);
  }

  /** Throws when kubectl fails. */
  async kubectl(...args: readonly string[]): Promise<string> {
    const { exitCode, stdout, stderr } = await this.#run(args);
    if (exitCode !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
    return stdout;
  }

  async apply(...objects: readonly object[]): Promise<string> {
    return this.applyWith([], ...objects);
  }

  async applyWith(flags: readonly string[], ...objects: readonly object[]): Promise<string> {
    const list = { apiVersion: 'v1', kind: 'List', items: objects };
    const { exitCode, stdout, stderr } = await this.#run(
      ['apply', ...flags, '-f', '-'],
      JSON.stringify(list),
    );
    if (exitCode !== 0) throw new Error(`kubectl apply: ${stderr}`);
    return stdout;
  }

  /** Ends all pods, then the process, and removes the state. Throws when a process of a pod is left. */
  async remove(): Promise<void> {
    let left: { readonly pid: number; readonly words: string }[] = [];
    try {
      // With their grace: a pod that is deleted by force is gone from the API before its containers are.
      await this.tryKubectl(
        'delete',
        'deployments,replicasets,statefulsets,daemonsets,jobs,cronjobs,pods',
        '--all',
        '--all-namespaces',
        '--timeout=60s',
      );
      await this.end('SIGTERM');
    } finally {
      await this.end('SIGKILL');
      left = this.#processes();
      for (const { pid } of left) process.kill(pid, 'SIGKILL');
      await removeTree(this.stateDir);
    }
    if (left.length > 0) throw new Error(`left running: ${left.map(({ words }) => words).join('; ')}`);
  }

  /** Processes that name the state directory: the supervisors of containers. */
  #processes(): { readonly pid: number; readonly words: string }[] {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((name) => {
        try {
          const words = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ');
          return words.includes(this.stateDir) ? [{ pid: Number(name), words }] : [];
        } catch {
          // It has ended meanwhile.
          return [];
        }
      });
  }

  async #run(args: readonly string[], input?: string): Promise<KubectlAnswer> {
    const kubectl = await controlPlaneProgram('kubectl');
    const env = { KUBECONFIG: this.kubeconfig, HOME: this.stateDir };
    try {
      const options = { env, ...(input === undefined ? {} : { input }), timeoutMs: 90_000 };
      return { exitCode: 0, ...(await runCommand(kubectl, args, options)) };
    } catch (error) {
      if (!(error instanceof CommandError) || error.exitCode === undefined) throw error;
      return { exitCode: error.exitCode, stdout: error.stdout, stderr: error.stderr };
    }
  }
}
