/** The agent under configuration that comes from several places. */
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { manifest, TestNode } from './agent.js';

let node: TestNode;
let dropIns: string;
beforeAll(async () => {
  node = await TestNode.create({ config: { fileCheckFrequency: '20s' } });
  dropIns = path.join(node.dir, 'conf.d');
  await mkdir(dropIns);
});
afterAll(() => node.stop());

const dropIn = (name: string, settings: object): Promise<void> =>
  writeFile(
    path.join(dropIns, name),
    JSON.stringify({
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      ...settings,
    }),
  );

it('drop-ins in their order win over the file, and flags over drop-ins', async () => {
  const at = (name: string): string => path.join(node.dir, name);
  await dropIn('10-first.conf', { podLogsDir: at('first'), logging: { format: 'json', verbosity: 0 } });
  await dropIn('20-second.conf', { podLogsDir: at('second') });
  await dropIn('30-ignored.yaml', { podLogsDir: at('third') });
  await node.apply('pod.yaml', manifest('pod'));
  await node.start('--config-dir', dropIns, '-v', '4');
  await node.untilReady('pod');
  expect(await readdir(at('second'))).toHaveLength(1);
  for (const name of ['first', 'third']) await expect(readdir(at(name))).rejects.toThrow('ENOENT');
});

it('the log in JSON is JSON to its last line, and shows details when asked to', async () => {
  // A command that cannot be run has a long story of causes.
  await node.apply('broken.yaml', manifest('broken', { command: ['/no/such\n"command'] }));
  await node.apply('invalid.yaml', 'kind: Pod\n  apiVersion: v1\n');
  await node.until('broken', 'failed', ({ containerStatuses: [one] = [] }) => (one?.restartCount ?? 0) > 0);
  expect(await node.kill('SIGTERM')).toBe(0);
  const entries = node.log
    .trimEnd()
    .split('\n')
    .map((line): Record<string, unknown> => JSON.parse(line));
  for (const entry of entries) {
    expect(entry).toMatchObject({ level: expect.any(String), msg: expect.any(String) });
    expect(Date.parse(String(entry.ts))).toBeGreaterThan(0);
  }
  expect(entries.map(({ level }) => level)).toContain('debug');
  expect(entries).toContainEqual(
    expect.objectContaining({
      what: 'event.Started',
      pod: 'default/pod-node1',
      podUID: expect.stringMatching(/^[0-9a-f]{32}$/),
      container: 'app',
    }),
  );
  expect(entries.map(({ what }) => what)).toContain('agent.stop');
});

it('without a verbosity there are no details', async () => {
  node.log = '';
  await node.start('--config-dir', dropIns);
  await node.untilReady('pod');
  await node.kill('SIGTERM');
  const levels = node.log
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).level);
  expect(levels).toContain('info');
  expect(levels).not.toContain('debug');
});

it('a drop-in with an unknown field is named with its place', async () => {
  await dropIn('40-wrong.conf', { maxPod: 5 });
  await expect(node.start('--config-dir', dropIns)).rejects.toThrow(/40-wrong\.conf.*maxPod/);
});
