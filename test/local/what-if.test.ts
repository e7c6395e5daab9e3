/** `what-if` against a run, as a user types it. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { GarbageOutlook } from '../../src/kubelet/index.js';
import { type LocalNode, runCli, shellPod, startLocalNode } from './local-node.js';

let node: LocalNode;
const whatIf = (...args: string[]) => runCli(['what-if', '--socket', node.socketPath, ...args]);

beforeAll(async () => {
  node = await startLocalNode();
  node.set(
    shellPod('web', 'exec sleep 1000'),
    shellPod('again', 'test -e again && exec sleep 1000; touch again; exit 1'),
  );
  await node.ready('web');
});
afterAll(() => node.close());

it('gc shows what stays and what goes, and removes nothing', async () => {
  await node.until('again', ({ status }) => (status?.containerStatuses?.[0]?.restartCount ?? 0) > 0);
  const { code, stdout, stderr } = await whatIf('gc');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^Dead containers:\nWHEN +POD +CONTAINER +ID +REASON\n/);
  expect(stdout).toMatch(/^stays +default\/again +app +\w{13} +it is among the last ended instances/m);
  expect(stdout).toContain('\nEnded sandboxes: none\n');
  const { containers }: GarbageOutlook = JSON.parse((await whatIf('gc', '-o', 'json')).stdout);
  expect(containers.items.map(({ pod: { name }, when }) => `${name} ${when}`)).toContain('again kept');
});

it('evict, shutdown and config say why a run does none of it', async () => {
  expect((await whatIf('evict')).stdout).toBe('This node evicts no pods: pods are not evicted in a run.\n');
  expect((await whatIf('shutdown')).stdout).toMatch(/^A shutdown of the machine waits for no pod: /);
  const config = await whatIf('config', '/etc/hostname');
  expect(config.code).toBe(1);
  expect(config.stderr).toContain('a run has no configuration file: name the kubelet API of an agent');
});

it.each([
  [['evct'], 'cannot foretell "evct"; did you mean evict?'],
  [[], 'name what to foretell: evict, gc, shutdown, config'],
  [['gc', 'web'], 'gc takes no names: web'],
  [['config'], 'name one file'],
  [['gc', '-o', 'yaml'], 'the only format is json'],
])('%j is a wrong command line', async (args, message) => {
  const { code, stderr } = await whatIf(...args);
  expect(code).toBe(2);
  expect(stderr).toContain(message);
});
