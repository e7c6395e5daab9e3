import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CleanupStack, createTempDir, startContainerd, type TestContainerd } from '../env/index.js';

const launcher = new URL('../../bin/nodelet', import.meta.url).pathname;
const cleanups = new CleanupStack();
let dir: string;
let containerd: TestContainerd;
beforeAll(async () => {
  dir = (await createTempDir('cli', { cleanups })).path;
  containerd = await startContainerd({ cleanups });
});
afterAll(() => cleanups.run());

async function nodelet(...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [launcher, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output.stderr += text;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, ...output };
}

const header = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';
const config = async (name: string, text: string): Promise<string> => {
  const file = path.join(dir, name);
  await writeFile(file, text);
  return file;
};

describe('nodelet', () => {
  it.each([
    ['help', ['help'], /nodelet agent \[flags\]/],
    ['version', ['version'], /^nodelet \d+\.\d+\.\d+\n$/],
    ['a flag first means the agent', ['--version'], /^Kubernetes v1\.37\.\d+\n$/],
    ["the agent's own help", ['agent', '--help'], /--container-runtime-endpoint/],
  ])('%s', async (_rule, args, output) => {
    const { code, stdout, stderr } = await nodelet(...args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(output);
  });
});

describe('a start that cannot be', () => {
  it.each<[string, () => Promise<string[]>, RegExp]>([
    ['an unknown command', async () => ['frobnicate'], /unknown command "frobnicate"/],
    [
      'an unknown flag',
      async () => ['agent', '--frobnicate'],
      /failed to parse kubelet flag: unknown flag: --frobnicate/,
    ],
    ['a leftover argument', async () => ['agent', 'extra'], /unknown command extra/],
    [
      'a configuration file that is not there',
      async () => ['agent', '--config', path.join(dir, 'none.yaml')],
      /none\.yaml.*no such file/,
    ],
    [
      'an empty configuration file',
      async () => ['agent', '--config', await config('empty.yaml', '')],
      /was empty/,
    ],
    [
      'an unknown field',
      async () => ['agent', '--config', await config('unknown.yaml', `${header}maxPod: 5\n`)],
      /unknown\.yaml:3:1.*maxPod[\s\S]*maxPods/,
    ],
    [
      'a wrong value',
      async () => ['agent', '--config', await config('wrong.yaml', `${header}syncFrequency: 60\n`)],
      /syncFrequency/,
    ],
    [
      'a locked feature gate',
      async () => ['agent', '--feature-gates=NodeSwap=false'],
      /cannot set feature gate NodeSwap to false, feature is locked to true/,
    ],
    [
      'a kubeconfig that is not there',
      async () => ['agent', '--kubeconfig', `${dir}/none.conf`, '--fail-cgroupv1=false'],
      /--kubeconfig .*none\.conf: .*correct the file, or leave the flag out to run without an API server/,
    ],
    [
      'no runtime there',
      async () => ['agent', '--container-runtime-endpoint', `unix://${dir}/no.sock`, '--fail-cgroupv1=false'],
      /cannot use the container runtime at unix:\/\/.*no\.sock.*start it, or name another/,
    ],
    [
      'an endpoint that is no socket',
      async () => ['agent', '--container-runtime-endpoint', 'tcp://127.0.0.1:1', '--fail-cgroupv1=false'],
      /tcp/,
    ],
  ])('%s', async (_rule, args, message) => {
    const { code, stderr } = await nodelet(...(await args()));
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/^\s+at /m);
    expect(code).toBe(1);
  });

  it('a port that is taken', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const address = taken.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const file = await config(
      'port.yaml',
      `${header}failCgroupV1: false\nauthentication: {webhook: {enabled: false}}\nauthorization: {mode: AlwaysAllow}\naddress: 127.0.0.1\nreadOnlyPort: ${port}\nhealthzPort: 0\ncontainerRuntimeEndpoint: ${containerd.endpoint}\npodLogsDir: ${dir}/logs\n`,
    );
    const { code, stderr } = await nodelet(
      'agent',
      '--config',
      file,
      '--root-dir',
      path.join(dir, 'root'),
      '--device-plugin-dir',
      path.join(dir, 'devices'),
    );
    taken.close();
    expect(stderr).toMatch(/cannot listen on 127\.0\.0\.1:\d+: .*EADDRINUSE.*set readOnlyPort/);
    expect(code).toBe(1);
  });
});
