import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { connectCri } from '../../src/cri/index.js';
import { runCommand } from '../env/command.js';
import { CleanupStack, pollUntil, startContainerd, type TestContainerd, testImages } from '../env/index.js';
import { Command, examples, leftovers, pidOf, processesOf } from './command.js';
import { documents, podManifest, runsOn } from './manifests.js';

let dir: string;
let stateDir: string;
beforeEach(async () => {
  dir = await mkdtemp('/tmp/nodelet-run-');
  stateDir = path.join(dir, 's');
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const run = (args: readonly string[]): Command => new Command(['run', ...args], { stateDir });
const put = async (name: string, ...manifests: string[]): Promise<string> => {
  const file = path.join(dir, name);
  await writeFile(file, documents(...manifests));
  return file;
};

describe('nodelet run on a containerd that runs', () => {
  const cleanups = new CleanupStack();
  let containerd: TestContainerd;
  beforeAll(async () => {
    containerd = await startContainerd({ cleanups });
  });
  afterAll(() => cleanups.run());

  it('keeps to its own pods, beside other runs and what is not its own', async () => {
    const image = testImages.busybox;
    const client = connectCri({ endpoint: containerd.endpoint, requestTimeoutMs: 30_000 });
    const foreign = {
      metadata: { name: 'foreign', uid: 'foreign', namespace: 'default', attempt: 0 },
      labels: { 'io.kubernetes.pod.uid': 'foreign' },
      linux: { cgroupParent: containerd.cgroupParent },
    };
    const { podSandboxId } = await client.runPodSandbox({ config: foreign });
    const web = await put('web.yaml', podManifest('web', { image, script: runsOn }));
    const job = await put(
      'job.yaml',
      podManifest('job', { image, policy: 'Never', script: 'echo done; exit 4' }),
    );
    const endpoint = ['--container-runtime-endpoint', containerd.endpoint];
    const first = run([web, ...endpoint, '--name', 'first']);
    await first.until('web: Running');
    const second = run([job, ...endpoint, '--name', 'second', '--logs']);
    expect(await second.exitCode()).toBe(1);
    expect(second.stdout).toBe('job/app | done\n');
    expect(second.stderr).toContain('the container runtime at unix://');
    expect(first.stdout).not.toContain('Terminating');
    first.signal('SIGINT');
    expect(await first.exitCode()).toBe(0);
    const { items } = await client.listPodSandbox({});
    expect(items.map(({ id }) => id)).toEqual([podSandboxId]);
    expect((await client.listContainers({})).containers).toEqual([]);
    await client.stopPodSandbox({ podSandboxId });
    await client.removePodSandbox({ podSandboxId });
    client.close();
    expect(leftovers(stateDir)).toEqual([]);
  });
  it('with --watch updates pods in place, replaces them in order, and follows what volumes hold', async () => {
    const image = testImages.busybox;
    const reader = (script: string): Record<string, unknown> => {
      const pod = JSON.parse(podManifest('reader', { image, script }));
      pod.spec.volumes = [{ name: 'conf', configMap: { name: 'conf' } }];
      pod.spec.containers[0].volumeMounts = [{ name: 'conf', mountPath: '/conf' }];
      pod.spec.containers[0].resources = { requests: { cpu: '10m', memory: '16Mi' } };
      return pod;
    };
    const conf = (word: string): string =>
      `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "conf"}, "data": {"word": "${word}"}}`;
    const script = `${runsOn.replace('sleep 0.1', 'cat /conf/word; echo; sleep 0.1')}`;
    const file = await put('reader.yaml', JSON.stringify(reader(script)), conf('one'));
    const command = run([file, '--watch', '--container-runtime-endpoint', containerd.endpoint]);
    await command.until('reader: Running');
    const logs = async (): Promise<string> => {
      const asked = new Command(['logs', 'reader', '--tail', '3'], { stateDir });
      await asked.exitCode();
      return asked.stdout;
    };
    await put('reader.yaml', JSON.stringify(reader(script)), conf('two'));
    await pollUntil(
      'the pod reads the second word',
      async () => (await logs()).includes('two') || undefined,
      {
        timeoutMs: 30_000,
      },
    );
    const resized = JSON.parse(JSON.stringify(reader(script)).replace('10m', '20m'));
    await put('reader.yaml', JSON.stringify(resized), conf('two'));
    await command.until('reader: updated in place, as spec.containers[0].resources.requests[cpu] changed');
    await pollUntil(
      'the container has the cpu',
      async () => {
        const asked = new Command(['explain', 'reader'], { stateDir });
        await asked.exitCode();
        return asked.stdout.includes('Pod resize completed') || undefined;
      },
      { timeoutMs: 30_000 },
    );
    expect(command.stdout).not.toMatch(/reader: .*restart/);
    await put('reader.yaml', JSON.stringify(reader(`: other; ${script}`)), conf('two'));
    await command.until('reader: takes the place of the running pod after its end');
    await command.until(/Terminating[\s\S]*reader: Running/);
    await rm(file);
    await command.until('reader: ended, as it is not in the manifests any more');
    command.signal('SIGINT');
    // The file is not there.
    expect(await command.exitCode()).toBe(1);
    expect(leftovers(stateDir)).toEqual([]);
  });
  it('is chosen by itself at its usual socket, unless another agent has pods there', async () => {
    // The socket is at its usual place for this command only.
    const usual = '/run/containerd/containerd.sock';
    const script = `mkdir -p /run/containerd && mount -t tmpfs none /run/containerd && touch ${usual} &&
      mount --bind ${containerd.layout.socket} ${usual} && exec "$@"`;
    const prefix = ['unshare', '--mount', 'sh', '-c', script, 'sh'];
    const file = await put(
      'job.yaml',
      podManifest('job', { policy: 'Never', script: 'echo made of $(hostname | wc -l) machine' }),
    );
    const chosen = new Command(['run', file, '--logs'], { stateDir, prefix });
    expect(await chosen.exitCode()).toBe(0);
    expect(chosen.stderr).toContain(`runtime: containerd, which runs on this machine (${usual})`);
    expect(chosen.stdout).toBe('job/app | made of 1 machine\n');
    expect((await containerd.ctr(['images', 'ls', '-q'])).stdout).not.toContain('nodelet.local');

    const client = connectCri({ endpoint: containerd.endpoint, requestTimeoutMs: 30_000 });
    const { podSandboxId } = await client.runPodSandbox({
      config: {
        metadata: { name: 'foreign', uid: 'foreign', namespace: 'default', attempt: 0 },
        linux: { cgroupParent: containerd.cgroupParent },
      },
    });
    const avoided = new Command(['run', file], { stateDir, prefix });
    expect(await avoided.exitCode()).toBe(0);
    expect(avoided.stderr).toContain('a containerd of its own');
    expect(avoided.stderr).toContain('belongs to another node agent');
    expect((await client.listPodSandbox({})).items.map(({ id }) => id)).toEqual([podSandboxId]);
    await client.stopPodSandbox({ podSandboxId });
    await client.removePodSandbox({ podSandboxId });
    client.close();
    expect(leftovers(stateDir)).toEqual([]);
  });
  it('says what is wrong with an endpoint', async () => {
    const web = await put('web.yaml', podManifest('web', { script: runsOn }));
    const command = run([web, '--container-runtime-endpoint', `unix://${dir}/none.sock`]);
    expect(await command.exitCode()).toBe(1);
    expect(command.stderr).toMatch(
      /cannot use the container runtime at unix:.*none\.sock.*start it, or remove --container-runtime-endpoint/s,
    );
    expect(leftovers(stateDir)).toEqual([]);
  });
});

describe('nodelet run on a containerd of its own', () => {
  /** Undefined while it does not run. */
  const containerdPid = (): number | undefined => {
    const config = path.join(stateDir, 'data/default/containerd/config.toml');
    return pidOf(['containerd', '--config', config]);
  };
  const bridge = async (): Promise<string> => {
    const file = path.join(stateDir, 'data/default/containerd/cni/conf/10-nodelet.conflist');
    return JSON.parse(await readFile(file, 'utf8')).plugins[0].bridge;
  };

  const packetRules = async (network: string): Promise<string[]> => {
    const { stdout } = await runCommand('iptables-save', ['--table', 'nat']);
    return stdout.split('\n').filter((rule) => rule.includes(network));
  };

  it('runs the examples without pulling anything, survives the end of containerd and its own, and leaves nothing', async () => {
    const killed = run(['--runtime', 'containerd', path.join(examples, 'pods')]);
    expect(killed.stderr).toBe('');
    await killed.until('web: Running, 2/2 ready');
    await killed.until(/init: Running, 1\/1 ready/);
    await killed.until('crash: CrashLoopBackOff');
    expect(killed.stderr).toContain('runtime: a containerd of its own, as you asked');

    const network = await bridge();
    const link = `/sys/class/net/${network}`;
    expect(existsSync(link)).toBe(true);
    const masquerading = expect.stringMatching(/^-A POSTROUTING -s [\d.]+\/24 .* -j MASQUERADE$/);
    expect(await packetRules(network)).toEqual([masquerading]);
    const firstPid = containerdPid() ?? 0;
    process.kill(firstPid, 'SIGKILL');
    await pollUntil(
      'containerd is started again',
      () => ([undefined, firstPid].includes(containerdPid()) ? undefined : true),
      { timeoutMs: 30_000, intervalMs: 1 },
    );
    killed.signal('SIGKILL');
    await killed.exitCode();

    const again = run(['--runtime', 'containerd', path.join(examples, 'pods')]);
    await again.until('web: Running, 2/2 ready');
    expect(again.stdout).not.toMatch(/web: .*restart/);
    expect(await packetRules(network)).toEqual([masquerading]);
    again.signal('SIGINT');
    expect(await again.exitCode(), again.stderr).toBe(0);
    expect(again.stdout).toContain('web: Stopped');
    expect(leftovers(stateDir)).toEqual([]);
    expect(processesOf(stateDir)).toEqual([]);
    expect(existsSync(link)).toBe(false);
    expect(await packetRules(network)).toEqual([]);
    expect(readFileSync('/proc/self/mountinfo', 'utf8')).not.toContain(stateDir);
  });
});
