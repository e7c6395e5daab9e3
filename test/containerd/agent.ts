/** Runs the real `nodelet agent` as a process against the test's own containerd, and reads it as a user would. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type Container, type CriClient, connectCri, type PodSandbox } from '../../src/cri/index.js';
import type { Pod, PodList, PodManifest, PodSpec, PodStatus } from '../../src/kube/index.js';
import {
  CleanupStack,
  createTempDir,
  freePort,
  pollUntil,
  startContainerd,
  type TestContainerd,
  testImages,
} from '../env/index.js';

const launcher = new URL('../../bin/nodelet', import.meta.url).pathname;

/** Waits until the condition holds. */
export async function eventually(
  what: string,
  condition: () => Promise<boolean>,
  timeoutMs = 60_000,
): Promise<void> {
  await pollUntil(what, async () => ((await condition()) ? true : undefined), { timeoutMs, intervalMs: 20 });
}

export const busybox = testImages.busybox;

export const shell = (script: string): string[] => ['sh', '-c', script];

/** A container that runs until it is told to stop, and then takes its time. */
export const stopsAfter = (seconds: number): string[] =>
  shell(`trap 'sleep ${seconds}; exit 0' TERM; while true; do sleep 0.1; done`);

/** A container that runs until it is told to stop. */
export const forever = shell("trap 'exit 0' TERM; while true; do sleep 0.1; done");

export interface SimplePod {
  readonly command?: readonly string[];
  readonly image?: string;
  readonly spec?: Partial<PodSpec>;
  readonly uid?: string;
}

export function manifest(
  name: string,
  { command = forever, image = busybox, spec = {}, uid }: SimplePod = {},
): PodManifest {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, ...(uid === undefined ? {} : { uid }) },
    spec: {
      terminationGracePeriodSeconds: 5,
      containers: [{ name: 'app', image, command: [...command] }],
      ...spec,
    },
  };
}

export interface NodeOptions {
  /** Fields of the configuration file beside those that every test needs; asked for at each start. */
  readonly config?: Record<string, unknown> | ((containerd: TestContainerd) => Record<string, unknown>);
  readonly flags?: readonly string[];
  /** Added to the environment of containerd. */
  readonly containerdEnv?: Readonly<Record<string, string>>;
  /** Added to the environment of the agent. */
  readonly env?: Readonly<Record<string, string>>;
}

/** One machine of the test: a containerd, directories, and the agent, which may die and come back. */
export class TestNode {
  readonly manifests: string;
  readonly podLogs: string;
  readonly logLinks: string;
  readonly root: string;
  readonly cri: CriClient;
  log = '';
  #agent: ChildProcess | undefined;
  #port = 0;
  #healthzPort = 0;

  private constructor(
    readonly containerd: TestContainerd,
    readonly dir: string,
    readonly options: NodeOptions,
    readonly cleanups: CleanupStack,
  ) {
    this.manifests = path.join(dir, 'manifests');
    this.podLogs = path.join(dir, 'logs');
    this.logLinks = path.join(dir, 'links');
    this.root = path.join(dir, 'root');
    this.cri = connectCri({ endpoint: containerd.endpoint, requestTimeoutMs: 60_000 });
  }

  static async create(options: NodeOptions = {}): Promise<TestNode> {
    const cleanups = new CleanupStack();
    const containerd = await startContainerd({ cleanups, env: options.containerdEnv ?? {} });
    const { path: dir } = await createTempDir('node', { cleanups });
    const node = new TestNode(containerd, dir, options, cleanups);
    await mkdir(node.manifests);
    return node;
  }

  /** Starts the agent, with more flags if there are any; resolves once it answers. */
  async start(...flags: string[]): Promise<void> {
    [this.#port, this.#healthzPort] = [await freePort(), await freePort()];
    const { config: more } = this.options;
    const config = {
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      staticPodPath: this.manifests,
      podLogsDir: this.podLogs,
      containerRuntimeEndpoint: this.containerd.endpoint,
      readOnlyPort: this.#port,
      healthzPort: this.#healthzPort,
      address: '127.0.0.1',
      failCgroupV1: false,
      authentication: { webhook: { enabled: false }, anonymous: { enabled: true } },
      authorization: { mode: 'AlwaysAllow' },
      ...(typeof more === 'function' ? more(this.containerd) : more),
    };
    const file = path.join(this.dir, 'config.yaml');
    await writeFile(file, JSON.stringify(config));
    const agent = spawn(
      process.execPath,
      [
        launcher,
        'agent',
        '--config',
        file,
        '--root-dir',
        this.root,
        '--hostname-override',
        'node1',
        '--device-plugin-dir',
        path.join(this.dir, 'devices'),
        '--container-logs-dir',
        this.logLinks,
        ...(this.options.flags ?? []),
        ...flags,
      ],
      { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, ...this.options.env } },
    );
    this.#agent = agent;
    agent.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.log += text;
    });
    await eventually('the agent answers', async () => {
      if (agent.exitCode !== null) throw new Error(`the agent exited with ${agent.exitCode}:\n${this.log}`);
      return (await this.get('/healthz', 'healthz').catch(() => undefined)) === 'ok';
    });
  }

  get pid(): number | undefined {
    return this.#agent?.pid;
  }

  /** Sends a signal to the agent and does not wait for what becomes of it. */
  signal(signal: NodeJS.Signals): void {
    this.#agent?.kill(signal);
  }

  /** Ends the agent by a signal and tells how it ended; containers are not its business any more. */
  async kill(signal: NodeJS.Signals): Promise<number | null> {
    const agent = this.#agent;
    if (agent === undefined) return null;
    const ended = agent.exitCode === null && agent.signalCode === null ? once(agent, 'exit') : undefined;
    agent.kill(signal);
    await ended;
    this.#agent = undefined;
    return agent.exitCode;
  }

  async stop(): Promise<void> {
    await this.kill('SIGKILL');
    await this.cri.close();
    await this.cleanups.run();
  }

  /** Puts a manifest in place in one step. */
  async apply(name: string, content: PodManifest | string): Promise<void> {
    const hidden = path.join(this.manifests, `.${name}`);
    await writeFile(hidden, typeof content === 'string' ? content : JSON.stringify(content, undefined, 2));
    await rename(hidden, path.join(this.manifests, name));
  }

  async remove(name: string): Promise<void> {
    await rm(path.join(this.manifests, name));
  }

  async get(route: string, port: 'readonly' | 'healthz' = 'readonly'): Promise<string> {
    const response = await fetch(
      `http://127.0.0.1:${port === 'readonly' ? this.#port : this.#healthzPort}${route}`,
      {
        headers: { connection: 'close' },
      },
    );
    return response.text();
  }

  async pods(): Promise<Pod[]> {
    const list: PodList = JSON.parse(await this.get('/pods'));
    return list.items ?? [];
  }

  async status(name: string): Promise<PodStatus | undefined> {
    return (await this.pods()).find((pod) => pod.metadata.name === `${name}-node1`)?.status;
  }

  async metric(line: string): Promise<number | undefined> {
    const found = (await this.get('/metrics')).split('\n').find((text) => text.startsWith(`${line} `));
    return found === undefined ? undefined : Number(found.slice(line.length + 1));
  }

  /** Waits until the status of a pod is as wanted, and returns it. */
  async until(
    name: string,
    what: string,
    wanted: (status: PodStatus) => boolean,
    timeoutMs = 60_000,
  ): Promise<PodStatus> {
    let last: PodStatus | undefined;
    await eventually(
      `pod ${name} ${what}`,
      async () => {
        last = await this.status(name).catch(() => undefined);
        return last !== undefined && wanted(last);
      },
      timeoutMs,
    ).catch((error: unknown) => {
      throw new Error(
        `${String(error)}\nlast status: ${JSON.stringify(last, undefined, 1)}\n${this.log.slice(-4000)}`,
      );
    });
    if (last === undefined) throw new Error('no status');
    return last;
  }

  untilReady(name: string, timeoutMs?: number): Promise<PodStatus> {
    return this.until(name, 'is ready', isReady, timeoutMs);
  }

  /** Waits until the runtime has nothing running of the pod. */
  async untilGone(name: string, timeoutMs = 60_000): Promise<void> {
    await eventually(`pod ${name} is gone`, async () => (await this.running(name)).length === 0, timeoutMs);
  }

  /** The ids of the pod's running containers. */
  async running(name?: string): Promise<string[]> {
    const { containers } = await this.cri.listContainers({ filter: { state: { state: 1 } } });
    return containers
      .filter(({ labels }) => name === undefined || labels['io.kubernetes.pod.name'] === `${name}-node1`)
      .map(({ id }) => id)
      .sort();
  }

  async readySandboxes(name: string): Promise<string[]> {
    return (await this.sandboxes(name)).filter(({ state }) => state === 0).map(({ id }) => id);
  }

  /** The pod's containers in whatever state, the newest first. */
  async containers(name: string): Promise<Container[]> {
    const { containers } = await this.cri.listContainers({});
    return containers
      .filter(({ labels }) => labels['io.kubernetes.pod.name'] === `${name}-node1`)
      .sort((a, b) => Number(b.createdAt - a.createdAt));
  }

  /** What a command prints inside the newest running instance of a pod's container. */
  async exec(name: string, container: string, ...cmd: string[]): Promise<string> {
    const instance = (await this.containers(name)).find(
      ({ metadata, state }) => metadata?.name === container && state === 1,
    );
    if (instance === undefined) throw new Error(`container ${container} of pod ${name} does not run`);
    const answer = await this.cri.execSync({ containerId: instance.id, cmd, timeout: 10 });
    if (answer.exitCode !== 0) {
      throw new Error(`${cmd.join(' ')} ended with ${answer.exitCode}: ${Buffer.from(answer.stderr)}`);
    }
    return Buffer.from(answer.stdout).toString();
  }

  /** The pod's sandboxes in whatever state, the newest first. */
  async sandboxes(name: string): Promise<PodSandbox[]> {
    const { items } = await this.cri.listPodSandbox({});
    return items
      .filter(({ metadata }) => metadata?.name === `${name}-node1`)
      .sort((a, b) => Number(b.createdAt - a.createdAt));
  }

  /** Ends the first process of a container or sandbox behind the runtime's back. */
  async killProcess(id: string): Promise<void> {
    const { info } = await this.cri
      .containerStatus({ containerId: id, verbose: true })
      .catch(() => this.cri.podSandboxStatus({ podSandboxId: id, verbose: true }));
    const { pid }: { pid: number } = JSON.parse(info.info ?? '{}');
    process.kill(pid, 'SIGKILL');
  }

  /** The lines of the log that are about the pod, of one kind if it is named. */
  logOf(name: string, what = ''): string[] {
    return this.log
      .split('\n')
      .filter((line) => line.includes(`pod=default/${name}-node1 `) && line.includes(` ${what}`));
  }

  /** How often a container of the pod was started. */
  starts(name: string, container: string): number {
    return this.logOf(name, 'container.start: Started').filter((line) =>
      line.includes(` container=${container} `),
    ).length;
  }
}

export function isReady(status: PodStatus): boolean {
  return status.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false;
}
