/** The whole agent as a library, on a real CRI socket with a simulated runtime behind it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ConfigurationError, type LoadedConfiguration } from '../config/index.js';
import { type CriServer, serveCri } from '../cri/index.js';
import { linuxHost, mountPointsUnder } from '../host/index.js';
import { SimRuntime } from '../runtimes/sim/index.js';
import { createAgent, type LogSink, readConfiguration, StartFailure } from './index.js';

let dir: string;
let runtime: SimRuntime;
let server: CriServer;

beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'nodelet-agent-'));
  await mkdir(path.join(dir, 'manifests'));
  runtime = new SimRuntime();
  server = await serveCri(runtime, { socketPath: path.join(dir, 'cri.sock') });
});

afterEach(async () => {
  await server.close();
  await runtime.close();
  // The kubelet mounts its directory on itself, so that volumes show in containers.
  const host = linuxHost();
  for (const { target } of await mountPointsUnder(host, dir)) await host.mounts.unmount(target);
  await rm(dir, { recursive: true, force: true });
});

/** Read from a file and flags, as a user's is; no port listens unless a test asks for one. */
async function configured(
  settings: object = {},
  flags: readonly string[] = [],
): Promise<LoadedConfiguration> {
  const file = path.join(dir, 'config.json');
  const content = {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    staticPodPath: './manifests',
    podLogsDir: path.join(dir, 'logs'),
    containerRuntimeEndpoint: server.endpoint,
    healthzPort: 0,
    // The test's own process keeps its place.
    oomScoreAdj: 0,
    failCgroupV1: false,
    failSwapOn: false,
    authentication: { webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    ...settings,
  };
  await writeFile(file, JSON.stringify(content));
  const argv = [
    '--config',
    'config.json',
    '--root-dir',
    path.join(dir, 'root'),
    '--device-plugin-dir',
    path.join(dir, 'devices'),
    '--hostname-override',
    'n1',
    ...flags,
  ];
  const loaded = await readConfiguration({ argv, cwd: dir });
  if (loaded.kind !== 'run') throw new Error(`the flags ask for ${loaded.kind}`);
  return loaded;
}

/** Keeps the log as text. */
function textLog(): { readonly sink: LogSink; text(): string } {
  let text = '';
  const take = (bytes: Uint8Array): number => {
    text += Buffer.from(bytes).toString();
    return bytes.length;
  };
  return { sink: { write: async (bytes) => take(bytes), writeNow: take }, text: () => text };
}

/** What keeps this process alive: sockets, servers, timers, watched directories, children. */
const resources = (): string[] =>
  process.getActiveResourcesInfo().filter((name) => !/^(FSReq.*|Immediate)$/.test(name));

/** Waits a moment, since the other side of a socket closes later. Timers of the test runner may come to an end meanwhile. */
async function expectNoMoreThan(before: readonly string[]): Promise<void> {
  const added = (): string[] => {
    const rest = [...before];
    return resources().filter((name) => {
      const at = rest.indexOf(name);
      if (at >= 0) rest.splice(at, 1);
      return at < 0;
    });
  };
  for (let tries = 0; tries < 500 && added().length > 0; tries++) await sleep(10);
  expect(added()).toEqual([]);
}

it('runs the pods of a directory until it is stopped, and leaves nothing behind', async () => {
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web' },
    spec: { containers: [{ name: 'app', image: 'example.test/app:1' }] },
  };
  await writeFile(path.join(dir, 'manifests', 'web.json'), JSON.stringify(pod));
  const configuration = await configured();
  const before = { resources: resources(), exitListeners: process.listenerCount('exit') };
  const { sink, text } = textLog();
  const stop = new AbortController();
  const agent = createAgent({ configuration, environment: {}, logSink: sink });
  const ended = agent.run(stop.signal);
  const kubelet = await agent.ready();
  await expect
    .poll(() => kubelet.pods().map(({ metadata, status }) => [metadata.name, status?.phase]), {
      timeout: 40_000,
    })
    .toEqual([['web-n1', 'Running']]);
  expect(resources().length).toBeGreaterThan(before.resources.length);

  stop.abort('the test is over');
  await ended;
  expect(text()).toContain('the test is over, stopping; containers keep running');
  const { containers } = await runtime.listContainers({});
  expect(containers).toHaveLength(1);
  await expectNoMoreThan(before.resources);
  expect(process.listenerCount('exit')).toBe(before.exitListeners);
  await expect(agent.run(stop.signal)).rejects.toThrow('an agent runs once');
}, 60_000);

it('gives way to another process that wants its lock file', async () => {
  const lock = path.join(dir, 'lock');
  const configuration = await configured({}, ['--lock-file', lock, '--exit-on-lock-contention']);
  const before = resources();
  const { sink, text } = textLog();
  const agent = createAgent({ configuration, environment: {}, logSink: sink });
  const ended = agent.run(new AbortController().signal);
  await agent.ready();
  const other = spawn('flock', [lock, 'sleep', '0'], { stdio: 'inherit' });
  const [[exitCode]] = await Promise.all([once(other, 'exit'), ended]);
  expect(exitCode).toBe(0);
  expect(text()).toContain(`process ${other.pid} waits for the lock file ${lock}, stopping`);
  await expectNoMoreThan(before);
}, 60_000);

it('an agent that is stopped before it starts starts nothing', async () => {
  const agent = createAgent({ configuration: await configured(), environment: {}, logSink: textLog().sink });
  await agent.run(AbortSignal.abort());
  await expect(agent.ready()).rejects.toThrow('the agent was stopped before it was ready');
  expect(runtime.calls.version).toBe(0);
});

it.each<[string, object, NodeJS.ProcessEnv, string]>([
  [
    'an endpoint that is no socket',
    { containerRuntimeEndpoint: 'tcp://127.0.0.1:1' },
    {},
    'cannot use the container runtime at tcp://127.0.0.1:1: only support unix socket endpoint; name a socket, such as unix:///run/containerd/containerd.sock, with --container-runtime-endpoint',
  ],
  [
    'an endpoint where nobody listens',
    { containerRuntimeEndpoint: 'unix:///nowhere/cri.sock' },
    {},
    'cannot use the container runtime at unix:///nowhere/cri.sock: validate service connection: validate CRI v1 runtime API for endpoint "unix:///nowhere/cri.sock": rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial unix /nowhere/cri.sock: connect: no such file or directory": connect ENOENT /nowhere/cri.sock; start it, or name another one with --container-runtime-endpoint',
  ],
  [
    'a watchdog that is too quick',
    {},
    { WATCHDOG_USEC: '500000' },
    'create health checker: configure watchdog timeout too small: 500ms; correct WatchdogSec of the unit',
  ],
])('refuses to start: %s', async (_, settings, environment, message) => {
  const before = resources();
  const agent = createAgent({
    configuration: await configured(settings),
    environment,
    logSink: textLog().sink,
  });
  const failure = await agent.run(new AbortController().signal).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(StartFailure);
  expect(failure).toMatchObject({ message });
  await expect(agent.ready()).rejects.toBe(failure);
  await expectNoMoreThan(before);
});

it('warns at the start about each insecure setting in force', async () => {
  const loaded = await configured({
    containerRuntimeEndpoint: 'unix:///nowhere/cri.sock',
    port: 10250,
    readOnlyPort: 10255,
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
  });
  const { sink, text } = textLog();
  // The runtime is away, so nothing listens before the start fails.
  const agent = createAgent({ configuration: loaded, environment: {}, logSink: sink });
  await expect(agent.run(new AbortController().signal)).rejects.toBeInstanceOf(StartFailure);
  const warnings = text()
    .split('\n')
    .filter((line) => line.includes('config.insecure'));
  for (const field of [
    'authentication.anonymous.enabled is true',
    'authorization.mode is AlwaysAllow',
    'enableDebuggingHandlers is true',
    'readOnlyPort is 10255',
  ])
    expect(warnings.filter((line) => line.includes(field) && /warn/i.test(line))).toHaveLength(1);
});

it('a setting that is wrong is told before there is an agent', async () => {
  await expect(configured({ maxPod: 5 })).rejects.toThrow(ConfigurationError);
});
