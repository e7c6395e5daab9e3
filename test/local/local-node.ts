/** A node for tests of the commands: a kubelet on the process runtime with its local server, and the command line as a child. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Channel } from '../../src/async/index.js';
import { applyPodDefaults, type Container, type Pod, type PodSpec } from '../../src/kube/index.js';
import { createKubelet, type Kubelet } from '../../src/kubelet/index.js';
import { ProcessRuntime } from '../../src/runtimes/process/index.js';
import { type StopPodsRequest, startLocalServer } from '../../src/server/local/index.js';
import { openDiskRing, Timeline } from '../../src/timeline/index.js';
import { createTempDir, pollUntil } from '../env/index.js';

const dist = process.env.NODELET_DIST ?? fileURLToPath(new URL('../../dist', import.meta.url));
export const cli = path.join(dist, 'nodelet.js');

export interface LocalNode {
  readonly dir: string;
  readonly rootDir: string;
  readonly socketPath: string;
  readonly kubelet: Kubelet;
  readonly stops: StopPodsRequest[];
  /** Sets all pods. */
  set(...pods: readonly Pod[]): void;
  /** Waits until the condition holds of the pod's status. */
  until(name: string, condition: (pod: Pod) => boolean): Promise<Pod>;
  ready(name: string): Promise<Pod>;
  close(): Promise<void>;
}

export async function startLocalNode(): Promise<LocalNode> {
  const tempDir = await createTempDir('local');
  const dir = tempDir.path;
  const rootDir = path.join(dir, 'root');
  const runtime = await ProcessRuntime.open({
    stateDir: path.join(dir, 'state'),
    supervisorEntry: path.join(dist, 'supervisor.js'),
  });
  const timeline = new Timeline();
  const ring = openDiskRing({ dir: path.join(rootDir, 'timeline'), onError: () => {} });
  timeline.subscribe(ring.reader);
  const snapshots = new Channel<readonly Pod[]>(100);
  const kubelet = await createKubelet({
    nodeName: 'here',
    runtime,
    rootDir,
    timeline,
    config: { podLogsDir: path.join(dir, 'logs'), imageGCHighThresholdPercent: 100 },
    sources: [
      {
        name: 'api',
        create: ({ deliver }) => ({
          async run(signal) {
            for (;;) {
              const received = await snapshots.receive(signal);
              if (!received.done) await deliver({ source: 'api', pods: received.value }, signal);
            }
          },
        }),
      },
    ],
  });
  let desired: readonly Pod[] = [];
  const set = (...pods: readonly Pod[]): void => {
    desired = pods;
    snapshots.trySend(pods);
  };
  const uids = (): Set<string> => new Set(kubelet.pods().map(({ metadata }) => metadata.uid));
  const stops: StopPodsRequest[] = [];
  const socketPath = path.join(dir, 'run', 's');
  const listener = await startLocalServer(kubelet, {
    socketPath,
    timeline,
    async stop(request) {
      stops.push(request);
      const stopped = new Set(request.pods.map(({ uid }) => uid));
      set(...desired.filter(({ metadata }) => !stopped.has(metadata.uid)));
      await pollUntil(
        'the pods are gone',
        () => ([...stopped].some((uid) => uids().has(uid)) ? undefined : true),
        {
          timeoutMs: 20_000,
        },
      );
    },
  });
  void kubelet.start();
  const until = (name: string, condition: (pod: Pod) => boolean): Promise<Pod> =>
    pollUntil(
      `pod ${name}`,
      () => kubelet.pods().find((pod) => pod.metadata.name === name && condition(pod)),
      {
        timeoutMs: 30_000,
        detail: () =>
          JSON.stringify(
            kubelet.pods().map(({ status }) => status),
            undefined,
            1,
          ),
      },
    );
  return {
    dir,
    rootDir,
    socketPath,
    kubelet,
    stops,
    set,
    until,
    ready: (name) =>
      until(
        name,
        ({ status }) => status?.conditions?.some((c) => c.type === 'Ready' && c.status === 'True') ?? false,
      ),
    async close() {
      set();
      await listener.close();
      await kubelet.stop();
      for (const { id } of (await runtime.listPodSandbox({})).items) {
        await runtime.stopPodSandbox({ podSandboxId: id });
        await runtime.removePodSandbox({ podSandboxId: id });
      }
      await runtime.close();
      await ring.close();
      await tempDir.remove();
    },
  };
}

/** One container named `app` that runs a shell script. */
export function shellPod(
  name: string,
  script: string,
  more: Partial<PodSpec> & { labels?: Record<string, string> } = {},
): Pod {
  const { labels, ...spec } = more;
  return pod(name, [{ name: 'app', image: 'host', command: ['sh', '-c', script] }], spec, labels);
}

export function pod(
  name: string,
  containers: readonly Container[],
  spec: Partial<PodSpec> = {},
  labels: Record<string, string> = {},
  namespace = 'default',
): Pod {
  const made: Pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace,
      uid: `uid-${namespace}-${name}`,
      labels,
      creationTimestamp: new Date().toISOString(),
    },
    spec: {
      terminationGracePeriodSeconds: 1,
      nodeName: 'here',
      hostNetwork: true,
      ...spec,
      containers: [...containers],
    },
  };
  applyPodDefaults(made);
  return made;
}

export interface CliResult {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliChild {
  readonly child: ChildProcess;
  /** What came so far. */
  output(): { readonly stdout: string; readonly stderr: string };
  readonly ended: Promise<CliResult>;
}

/** Runs the command line as a user would; `input` is its standard input, empty by default. */
export function startCli(
  args: readonly string[],
  options: { readonly input?: string | 'open'; readonly env?: NodeJS.ProcessEnv } = {},
): CliChild {
  const child = spawn(process.execPath, [cli, ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...options.env },
  });
  const chunks = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  child.stdout.on('data', (chunk: Buffer) => chunks.stdout.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => chunks.stderr.push(chunk));
  child.stdin.on('error', () => {});
  if (options.input !== 'open') child.stdin.end(options.input ?? '');
  const output = () => ({
    stdout: Buffer.concat(chunks.stdout).toString('utf8'),
    stderr: Buffer.concat(chunks.stderr).toString('utf8'),
  });
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, ...output() }) as CliResult);
  return { child, output, ended };
}

export const runCli = (
  args: readonly string[],
  options?: Parameters<typeof startCli>[1],
): Promise<CliResult> => startCli(args, options).ended;
