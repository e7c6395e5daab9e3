/** The commands against real runs: one, several, and one that was killed. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CleanupStack, createTempDir } from '../env/index.js';
import { type CliResult, cli, runCli, shellPod } from './local-node.js';
import { startRun } from './run-child.js';

const cleanups = new CleanupStack();
let dir = '';
let env: NodeJS.ProcessEnv = {};
const nodelet = (...args: string[]): Promise<CliResult> => runCli(args, { env });

const startPods = (name: string, pods: readonly string[]): Promise<ChildProcess> =>
  startRun({
    name,
    dir,
    env,
    cleanups,
    flags: ['--runtime', 'process'],
    pods: pods.map((podName) => shellPod(podName, 'echo up; exec sleep 1000')),
  });

let one: ChildProcess;
let two: ChildProcess;

beforeAll(async () => {
  ({ path: dir } = await createTempDir('runs', { cleanups }));
  env = { NODELET_STATE_DIR: path.join(dir, 'state') };
  one = await startPods('one', ['web']);
});
afterAll(() => cleanups.run());

it('needs no name while there is one run', async () => {
  expect(await nodelet('logs', 'web')).toMatchObject({ code: 0, stdout: 'up\n' });
  expect((await nodelet('completion', 'words', '--', 'logs', 'w')).stdout).toBe('web\n');
  expect((await nodelet('completion', 'words', '--', 'exec', 'web', '-c', '')).stdout).toBe('app\n');
});

it('completes in bash', async () => {
  const script = [
    `nodelet() { ${process.execPath} ${cli} "$@"; }`,
    'source <(nodelet completion bash)',
    'COMP_WORDS=(nodelet logs ""); COMP_CWORD=2; _nodelet; echo "$COMPREPLY"',
  ].join('\n');
  const bash = spawn('bash', ['-c', script], { env: { ...process.env, ...env } });
  let seen = '';
  bash.stdout.on('data', (chunk: Buffer) => {
    seen += chunk.toString();
  });
  await once(bash, 'close');
  expect(seen).toBe('web\n');
});

it('asks which run is meant when there are several', async () => {
  two = await startPods('two', ['web', 'db']);
  const { code, stderr } = await nodelet('logs', 'web');
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/several runs.*one, two/) });
  expect(await nodelet('logs', 'db', '--run', 'two')).toMatchObject({ code: 0, stdout: 'up\n' });
  expect(await nodelet('logs', 'db', '--name', 'one')).toMatchObject({ code: 1 });
  const { stdout } = await nodelet('ps');
  expect(stdout).toMatch(/^RUN +CONTAINER ID/);
  expect(stdout.match(/^(one|two) /gm)).toHaveLength(3);
});

it('stops a pod, then the run', async () => {
  expect((await nodelet('stop', 'db', '--run', 'two')).stdout).toBe('pod "db" stopped\n');
  const { stdout } = await nodelet('get', 'pods', '--run', 'two', '-o', 'name');
  expect(stdout).toBe('pod/web\n');
  const exited = once(two, 'exit');
  expect((await nodelet('stop', '--run', 'two')).stdout).toBe('run "two" stopped\n');
  await exited;
  expect(two.exitCode).toBe(0);
});

it('tells of a run that was killed, and still explains its pods', async () => {
  const exited = once(one, 'exit');
  one.kill('SIGKILL');
  await exited;
  const { code, stderr } = await nodelet('get', 'pods');
  expect(code).toBe(1);
  expect(stderr).toMatch(/the run "one" is not running any more: its process \d+ is gone/);
  expect(stderr).toContain('"nodelet stop --name one" ends and removes them');
  const explained = await nodelet('explain', 'web', '--follow');
  expect(explained.code).toBe(0);
  expect(explained.stdout).toMatch(/Run "one" is gone/);
  expect(explained.stdout).toMatch(/At [\d:]+, the last that is known: Running, ready/);
  // The next run of the name takes over what was left, and cleans up after itself.
  one = await startPods('one', ['web']);
  expect((await nodelet('stop', '--all', '--now')).stdout).toBe('run "one" stopped\n');
  expect((await nodelet('ps')).stderr).toMatch(/nothing runs: start pods with nodelet run FILE/);
});
