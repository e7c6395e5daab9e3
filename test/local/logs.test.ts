/** `nodelet logs` against a run, as a user types it. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { pollUntil } from '../env/index.js';
import { type LocalNode, pod, runCli, shellPod, startCli, startLocalNode } from './local-node.js';

let node: LocalNode;
const logs = (...args: string[]) => runCli(['logs', '--socket', node.socketPath, ...args]);
const speaks = (name: string, script: string) => ({ name, image: 'host', command: ['sh', '-c', script] });

beforeAll(async () => {
  node = await startLocalNode();
  node.set(
    shellPod('ticker', 'i=0; while :; do i=$((i+1)); echo tick $i; sleep 0.2; done'),
    shellPod('crash', 'echo alive; echo oops >&2; sleep 0.3; exit 1'),
    pod('pair', [
      speaks('one', 'echo from one; echo err one >&2; exec sleep 1000'),
      speaks('two', 'echo from two; exec sleep 1000'),
    ]),
    shellPod(
      'flood',
      'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); echo "line $i of a long log that fills pipes"; done; exec sleep 1000',
    ),
  );
  for (const name of ['ticker', 'pair', 'flood']) await node.ready(name);
});
afterAll(() => node.close());

it('follows until Ctrl-C', async () => {
  const { child, output, ended } = startCli([
    'logs',
    '-f',
    '--tail=0',
    'ticker',
    '--socket',
    node.socketPath,
  ]);
  await pollUntil('three ticks', () => (output().stdout.split('\n').length > 3 ? true : undefined), {
    timeoutMs: 10_000,
  });
  child.kill('SIGINT');
  const { signal, stdout } = await ended;
  expect(signal).toBe('SIGINT');
  const numbers = stdout
    .trim()
    .split('\n')
    .map((line) => Number(line.replace('tick ', '')));
  expect(numbers).toEqual(numbers.map((_, at) => (numbers[0] ?? 0) + at));
});

it('shows the last lines, with times, up to a limit', async () => {
  expect((await logs('ticker', '--tail', '2')).stdout).toMatch(/^tick \d+\ntick \d+\n$/);
  expect((await logs('ticker', '--tail=1', '--timestamps')).stdout).toMatch(
    /^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{9}\S+ tick \d+\n$/,
  );
  expect((await logs('ticker', '--limit-bytes', '4')).stdout).toBe('tick');
  expect((await logs('ticker', '--since-time', '2999-01-01T00:00:00Z')).stdout).toBe('');
  expect((await logs('ticker', '--since', '1h')).stdout).toMatch(/^tick 1\n/);
});

it('shows the previous instance after a restart', async () => {
  await node.until('crash', ({ status }) => (status?.containerStatuses?.[0]?.restartCount ?? 0) > 0);
  const previous = await logs('crash', '--previous');
  expect(previous).toMatchObject({ code: 0, stdout: expect.stringMatching(/^alive\n/) });
  expect(previous.stdout).toContain('oops');
});

it('says that there is no previous instance', async () => {
  const { code, stderr } = await logs('ticker', '-p');
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: 'nodelet logs: previous terminated container "app" in pod "ticker" not found\n',
  });
});

it('takes the first container and says so, or all with a prefix', async () => {
  expect(await logs('pair')).toMatchObject({
    code: 0,
    stdout: 'from one\nerr one\n',
    stderr: 'Defaulted container "one" out of: one, two\n',
  });
  expect((await logs('pair', 'two')).stdout).toBe('from two\n');
  const { stdout } = await logs('pair', '--all-containers', '--prefix');
  expect(stdout).toContain('[pod/pair/one] from one\n[pod/pair/one] err one\n');
  expect(stdout).toContain('[pod/pair/two] from two\n');
});

it('names the containers that there are', async () => {
  expect(await logs('pair', '-c', 'tow')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /container tow is not valid for pod pair; did you mean two\?\nIt has: one, two/,
    ),
  });
});

it('gives a slow reader everything, and ends with a reader that leaves', async () => {
  const { stdout } = await logs('flood');
  expect(stdout.split('\n').length).toBeGreaterThan(20_000);
  const { child, ended } = startCli(['logs', '-f', 'flood', '--socket', node.socketPath]);
  child.stdout?.destroy();
  expect((await ended).code).toBe(141);
});
