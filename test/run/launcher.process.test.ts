/** `bin/nodelet` as it is installed: started by its first line, by the Node that runs this test, without a warning. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CleanupStack, createTempDir, pollUntil } from '../env/index.js';
import { podManifest, runsOn } from './manifests.js';

const launcher = new URL('../../bin/nodelet', import.meta.url).pathname;
const { node: version } = process.versions;
/** A line that nodelet logged; others are of Node and V8, on their own behalf. */
const logLine = /^\d{4}-\d\d-\d\dT\S+Z (DEBUG|INFO|WARN|ERROR) /;

let dir: string;
let cleanups: CleanupStack;
let running: Started[];

interface Started {
  readonly child: ChildProcess;
  readonly exited: Promise<unknown>;
  stdout: string;
  stderr: string;
}

beforeEach(async () => {
  cleanups = new CleanupStack();
  dir = (await createTempDir('launcher', { cleanups })).path;
  running = [];
});
afterEach(async () => {
  for (const { child, exited } of running.reverse()) {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    await exited;
  }
  // The agent leaves its directory mounted, as pods may still use it.
  await cleanups.run();
});

function start(...args: string[]): Started {
  const env = {
    ...process.env,
    NODE_OPTIONS: '',
    NODELET_STATE_DIR: path.join(dir, 'state'),
    PATH: `${path.dirname(process.execPath)}:${process.env.PATH ?? ''}`,
  };
  const child = spawn(launcher, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const started: Started = { child, exited: once(child, 'close'), stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    started.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    started.stderr += text;
  });
  running.push(started);
  return started;
}

async function exitCode({ child, exited }: Started): Promise<number | null> {
  await exited;
  return child.exitCode;
}

const until = (what: string, condition: () => boolean, { stdout, stderr }: Started): Promise<true> =>
  pollUntil(what, () => (condition() ? true : undefined), {
    timeoutMs: 60_000,
    detail: () => `${stdout}\n${stderr}`,
  });

describe(`bin/nodelet on Node ${version}`, () => {
  it.each([[['--version']], [['version']], [['--help']], [['agent', '--help']]])('%j', async (args) => {
    const command = start(...args);
    expect(await exitCode(command)).toBe(0);
    expect(command.stderr).toBe('');
    expect(command.stdout).not.toBe('');
  });

  it('runs a pod of processes to its end', async () => {
    const file = path.join(dir, 'pod.yaml');
    await writeFile(file, podManifest('once', { script: 'echo done', policy: 'Never' }));
    const command = start('run', '--runtime', 'process', '--logs', file);
    expect(await exitCode(command)).toBe(0);
    expect(command.stdout).toContain('done');
    expect(command.stderr).not.toMatch(/warning|deprecat|unrecognized|bad option|experimental/i);
  });

  it('is an agent on a simulated runtime', async () => {
    const [socket, manifests, config] = ['cri.sock', 'manifests', 'config.yaml'].map((name) =>
      path.join(dir, name),
    );
    const endpoint = `unix://${socket}`;
    const runtime = start('cri', 'serve', '--runtime', 'sim', '--listen', endpoint);
    await until('the runtime listens', () => existsSync(socket!), runtime);
    await mkdir(manifests!);
    await writeFile(path.join(manifests!, 'pod.yaml'), podManifest('web', { script: runsOn }));
    const configuration = {
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      staticPodPath: manifests,
      podLogsDir: path.join(dir, 'logs'),
      containerRuntimeEndpoint: endpoint,
      healthzPort: 0,
      failCgroupV1: false,
      cgroupsPerQOS: false,
      enforceNodeAllocatable: [],
      authentication: { webhook: { enabled: false } },
      authorization: { mode: 'AlwaysAllow' },
    };
    await writeFile(config!, JSON.stringify(configuration));
    const agent = start(
      'agent',
      '--config',
      config!,
      '--root-dir',
      path.join(dir, 'root'),
      '--device-plugin-dir',
      path.join(dir, 'devices'),
      '-v',
      '4',
    );
    await until('the pod runs', () => /Started/.test(agent.stderr), agent);
    agent.child.kill('SIGTERM');
    expect(await exitCode(agent)).toBe(0);
    expect(agent.stderr.split('\n').filter((line) => line !== '' && !logLine.test(line))).toEqual([]);
    runtime.child.kill('SIGTERM');
    expect(await exitCode(runtime)).toBe(0);
    expect(runtime.stderr).toBe('');
  });
});
