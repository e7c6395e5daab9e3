/** nodelet as root of a user namespace only, which may set neither the kernel nor OOM scores. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { serveCri } from '../../src/cri/index.js';
import { SimRuntime } from '../../src/runtimes/sim/index.js';
import { CleanupStack } from '../env/index.js';
import { Command } from './command.js';
import { podManifest } from './manifests.js';

const userNamespace = [
  'unshare',
  '--user',
  '--map-root-user',
  '--mount',
  '--pid',
  '--fork',
  '--kill-child',
  '--mount-proc',
];
/** The namespaces, prepared by a script that runs in them before nodelet. */
const prepared = (script: string): string[] => [
  ...userNamespace,
  'sh',
  '-ec',
  `${script}\nexec "$@"`,
  'prepare',
];

let dir: string;
const cleanups = new CleanupStack();
beforeEach(async () => {
  dir = await mkdtemp('/tmp/nodelet-rootless-');
});
afterEach(async () => {
  await cleanups.run();
  await rm(dir, { recursive: true, force: true });
});

function nodelet(args: readonly string[], prefix: readonly string[]): Command {
  const command = new Command(args, { stateDir: path.join(dir, 'state'), prefix });
  let hasEnded = false;
  const exited = command.exitCode().then(() => {
    hasEnded = true;
  });
  cleanups.defer('nodelet', async () => {
    if (!hasEnded) command.signal('SIGTERM');
    await exited;
  });
  return command;
}

it('run says what the namespace lacks, and runs pods with volumes in memory', async () => {
  const manifest = path.join(dir, 'pod.json');
  const pod = JSON.parse(podManifest('p', { script: 'id -u; cat /proc/self/uid_map', policy: 'Never' }));
  pod.spec.containers[0].volumeMounts = [{ name: 'scratch', mountPath: path.join(dir, 'scratch') }];
  pod.spec.volumes = [{ name: 'scratch', emptyDir: { medium: 'Memory' } }];
  await writeFile(manifest, JSON.stringify(pod));
  // A container runtime of this machine is no part of the test.
  const command = nodelet(['run', '--logs', manifest], prepared('mount -t tmpfs tmpfs /run'));
  expect(await command.exitCode()).toBe(0);
  expect(command.output).toMatch(/^runtime: plain processes .*this user namespace lacks /m);
  expect(command.output).toMatch(/p\/app +\| +0 +0 +1$/m);
});

describe('the agent', () => {
  /** A kernel setting that differs and cannot be changed, as for root of a user namespace. */
  const lockedSetting = (): string => `echo 0 > ${dir}/panic
    mount --bind ${dir}/panic /proc/sys/kernel/panic
    mount -o remount,bind,ro /proc/sys/kernel/panic`;
  /** On a machine whose cgroups belong to its real root. */
  const lockedCgroups = `while read -r _ _ _ _ point _; do
      case $point in /sys/fs/cgroup*) mount -o remount,bind,ro "$point" ;; esac
    done < /proc/self/mountinfo`;

  async function agent(settings: object, script: string): Promise<Command> {
    const runtime = new SimRuntime();
    const server = await serveCri(runtime, { socketPath: path.join(dir, 'cri.sock') });
    cleanups.defer('the runtime', async () => {
      await server.close();
      await runtime.close();
    });
    await mkdir(path.join(dir, 'manifests'));
    await writeFile(path.join(dir, 'manifests/p.json'), podManifest('p', { script: 'sleep 1000' }));
    const content = {
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      staticPodPath: path.join(dir, 'manifests'),
      podLogsDir: path.join(dir, 'logs'),
      containerRuntimeEndpoint: server.endpoint,
      healthzPort: 0,
      failCgroupV1: false,
      failSwapOn: false,
      authentication: { webhook: { enabled: false } },
      authorization: { mode: 'AlwaysAllow' },
      ...settings,
    };
    await writeFile(path.join(dir, 'config.json'), JSON.stringify(content));
    const flags = ['--root-dir', path.join(dir, 'root'), '--device-plugin-dir', path.join(dir, 'devices')];
    return nodelet(['agent', '--config', path.join(dir, 'config.json'), ...flags], prepared(script));
  }

  it('names each thing that it could not set, and runs pods', async () => {
    const command = await agent({ protectKernelDefaults: false }, lockedSetting());
    await command.until('pod.ready: Ready False → True');
    expect(command.stderr).toContain('agent.userns: the agent runs in a user namespace');
    expect(command.stderr).toContain('agent.oom: own oom_score_adj could not be set to -999');
    expect(command.stderr).toContain('node.kernel: the kernel setting kernel/panic stays at 0: EROFS');
    expect(command.stderr).toContain('the kernel log cannot be read: EPERM');
  });

  it('without the gate ends with an error that names it', async () => {
    const settings = { protectKernelDefaults: false, featureGates: { KubeletInUserNamespace: false } };
    const command = await agent(settings, lockedSetting());
    expect(await command.exitCode()).toBe(1);
    expect(command.stderr).toMatch(
      /EROFS.*; root of a user namespace .* set featureGates\.KubeletInUserNamespace to true/,
    );
  });

  it('says what helps where cgroups of pods cannot be made', async () => {
    const command = await agent({ cgroupsPerQOS: true, cgroupDriver: 'cgroupfs' }, lockedCgroups);
    expect(await command.exitCode()).toBe(1);
    expect(command.stderr).toMatch(/EROFS.*Delegate=yes.*or set cgroupsPerQOS to false/);
  });
});
