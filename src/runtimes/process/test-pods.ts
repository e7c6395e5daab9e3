/** For tests: pods on a process runtime in their own directories, and what the machine shows of them. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ContainerConfig, ContainerState, type ContainerStatus, type Init } from '../../cri/index.js';
import type { ProcessRuntimeOptions } from './machine.js';
import { ProcessRuntime } from './runtime.js';
import { buildSupervisor } from './test-supervisor.js';

export class TestMachine {
  readonly directory = mkdtempSync(join(tmpdir(), 'nodelet-process-'));
  readonly stateDir = join(this.directory, 'state');
  readonly logs = join(this.directory, 'logs');
  readonly problems: string[] = [];
  readonly supervisorEntry: string;
  readonly #supervisorDirectory: string;
  readonly #opened: ProcessRuntime[] = [];

  private constructor(entry: string, directory: string) {
    this.supervisorEntry = entry;
    this.#supervisorDirectory = directory;
  }

  static async create(): Promise<TestMachine> {
    const { entry, directory } = await buildSupervisor();
    return new TestMachine(entry, directory);
  }

  async open(more: Partial<ProcessRuntimeOptions> = {}): Promise<ProcessRuntime> {
    const runtime = await ProcessRuntime.open({
      stateDir: this.stateDir,
      supervisorEntry: this.supervisorEntry,
      onProblem: (message, error) => this.problems.push(`${message}: ${String(error)}`),
      ...more,
    });
    this.#opened.push(runtime);
    return runtime;
  }

  /** Removes all pods of the state directory, and the directories. */
  async remove(): Promise<void> {
    for (const runtime of this.#opened) await runtime.close();
    if (existsSync(this.stateDir)) {
      const last = await ProcessRuntime.open({
        stateDir: this.stateDir,
        supervisorEntry: this.supervisorEntry,
      });
      await removePods(last);
      await last.close();
    }
    for (const directory of [this.directory, this.#supervisorDirectory])
      rmSync(directory, { recursive: true });
  }
}

export async function removePods(runtime: ProcessRuntime): Promise<void> {
  for (const { id } of (await runtime.listPodSandbox({})).items) {
    await runtime.removePodSandbox({ podSandboxId: id });
  }
}

export interface TestPod {
  readonly podSandboxId: string;
  create(config: Init<ContainerConfig>): Promise<string>;
  start(config: Init<ContainerConfig>): Promise<string>;
}

let pods = 0;

export async function runPod(runtime: ProcessRuntime, logs: string): Promise<TestPod> {
  const name = `pod-${process.pid}-${pods++}`;
  const logDirectory = join(logs, name);
  mkdirSync(logDirectory, { recursive: true });
  const config = { metadata: { name, namespace: 'test', uid: name, attempt: 0 }, logDirectory };
  const { podSandboxId } = await runtime.runPodSandbox({ config });
  let containers = 0;
  const create = async (container: Init<ContainerConfig>): Promise<string> => {
    const containerName = `c${containers++}`;
    const { containerId } = await runtime.createContainer({
      podSandboxId,
      sandboxConfig: config,
      config: {
        metadata: { name: containerName, attempt: 0 },
        image: { image: 'test' },
        logPath: join(containerName, '0.log'),
        ...container,
      },
    });
    return containerId;
  };
  const start = async (container: Init<ContainerConfig>): Promise<string> => {
    const containerId = await create(container);
    await runtime.startContainer({ containerId });
    return containerId;
  };
  return { podSandboxId, create, start };
}

export async function statusOf(runtime: ProcessRuntime, containerId: string): Promise<ContainerStatus> {
  const { status } = await runtime.containerStatus({ containerId });
  if (status === undefined) throw new Error(`container ${containerId} has no status`);
  return status;
}

export function exited(runtime: ProcessRuntime, containerId: string): Promise<ContainerStatus> {
  return until(`${containerId} has exited`, async () => {
    const status = await statusOf(runtime, containerId);
    return status.state === ContainerState.CONTAINER_EXITED ? status : undefined;
  });
}

/** A container's output, without times. */
export async function output(runtime: ProcessRuntime, containerId: string): Promise<string[]> {
  const { logPath } = await exited(runtime, containerId);
  return readFileSync(logPath, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => line.slice(line.indexOf(' ') + 1));
}

export async function until<T>(
  what: string,
  probe: () => T | undefined | Promise<T | undefined>,
  limitMs = 20_000,
): Promise<T> {
  const deadlineMs = performance.now() + limitMs;
  for (;;) {
    const value = await probe();
    if (value !== undefined) return value;
    if (performance.now() > deadlineMs) throw new Error(`${what}: not within ${limitMs} ms`);
    await sleep(20);
  }
}

/** Processes whose command line or environment contains the text, from /proc; excludes zombies. */
export function processesWith(text: string, where: 'cmdline' | 'environ'): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        return readFileSync(`/proc/${name}/${where}`).includes(text);
      } catch {
        return false;
      }
    })
    .map(Number);
}
