/** The single executable, where this Node can make it: alone in a directory, it runs pods, in the background too, and is an agent. */
import { spawnSync } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { version } from '../../src/agent/index.js';
import { CleanupStack, createTempDir, pollUntil } from '../env/index.js';
import { podManifest, runsOn } from './manifests.js';

const project = fileURLToPath(new URL('../..', import.meta.url));
const canBuild = Number.parseInt(process.versions.node, 10) >= 26;

describe.skipIf(!canBuild)('the single executable', () => {
  const cleanups = new CleanupStack();
  let dir: string;
  let program: string;

  /** With a path that containers find their shell on. */
  const nodelet = (...args: string[]) => {
    const env = { PATH: '/usr/bin:/bin', NODELET_STATE_DIR: path.join(dir, 'state'), NO_COLOR: '1' };
    const { status, stdout, stderr } = spawnSync(program, args, { env, encoding: 'utf8', timeout: 60_000 });
    return { status, stdout, stderr };
  };

  beforeAll(async () => {
    ({ path: dir } = await createTempDir('executable', { cleanups }));
    const built = spawnSync('npm', ['run', '--silent', 'build:executable'], {
      cwd: project,
      encoding: 'utf8',
    });
    expect(built).toMatchObject({ status: 0 });
    program = path.join(dir, 'nodelet');
    copyFileSync(path.join(project, 'executable/nodelet'), program);
  }, 300_000);
  afterAll(() => cleanups.run());

  it('tells its version without a warning', () =>
    expect(nodelet('version')).toEqual({ status: 0, stdout: `nodelet ${version}\n`, stderr: '' }));

  it('runs a pod as processes, each with its supervisor', async () => {
    const manifest = path.join(dir, 'job.json');
    await writeFile(manifest, podManifest('hello', { script: 'echo from the executable', policy: 'Never' }));
    const { status, stdout } = nodelet('run', '--runtime', 'process', '--logs', manifest);
    expect(stdout).toContain('from the executable');
    expect(status).toBe(0);
  });

  it('runs in the background', async () => {
    const manifest = path.join(dir, 'pod.json');
    await writeFile(manifest, podManifest('web', { script: runsOn }));
    cleanups.defer('the run', async () => void nodelet('stop', '--run', 'back'));
    expect(nodelet('run', '-d', '--name', 'back', '--runtime', 'process', manifest)).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('Run "back" is up with 1 pod'),
    });
    await pollUntil('the pod runs', () => nodelet('logs', 'web').stdout === 'up\n' || undefined, {
      timeoutMs: 60_000,
    });
    expect(nodelet('stop', '--run', 'back')).toMatchObject({ status: 0 });
  });

  it('is the agent of a node', async () => {
    const config = path.join(dir, 'config.json');
    await mkdir(path.join(dir, 'manifests'));
    const content = {
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      staticPodPath: path.join(dir, 'manifests'),
      containerRuntimeEndpoint: `unix://${dir}/none.sock`,
      failCgroupV1: false,
      failSwapOn: false,
      authentication: { webhook: { enabled: false } },
      authorization: { mode: 'AlwaysAllow' },
    };
    await writeFile(config, JSON.stringify(content));
    const { status, stderr } = nodelet('--config', config, '--root-dir', path.join(dir, 'root'));
    expect(stderr).toContain(`nodelet agent: cannot use the container runtime at unix://${dir}/none.sock`);
    expect(status).toBe(1);
  });
});
