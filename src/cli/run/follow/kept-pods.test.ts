import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '../../../async/index.js';
import type { KeptPod } from '../run-pod.js';
import { KeptPods } from './kept-pods.js';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp('/tmp/nodelet-kept-');
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const told: string[] = [];
const keeper = (rootDir = dir): KeptPods =>
  new KeptPods({
    rootDir,
    clock: systemClock,
    onSetAside: ({ reason }) => told.push(`set aside: ${reason}`),
    onFailing: (file) => told.push(`failing: ${path.basename(file)}`),
  });
const pod: KeptPod = {
  slot: 'Pod default/a',
  isWanted: true,
  pod: { metadata: { name: 'a', namespace: 'default', uid: 'u' }, spec: { containers: [] } },
};

it('keeps pods, for their user alone', async () => {
  await keeper().write([pod]);
  expect(await keeper().read()).toEqual([pod]);
  expect((await stat(path.join(dir, 'run-pods.json'))).mode & 0o777).toBe(0o600);
});

it('has none at first', async () => {
  expect(await keeper().read()).toEqual([]);
});

it.each([
  ['half of it', '{"version":1,"pods":[{"slot"', 'it is not whole JSON'],
  ['another version', '{"version":9,"pods":[]}', 'it is of version 9, and this nodelet knows version 1'],
  ['no list', '{"version":1}', 'it names no pods'],
  [
    'a pod without a UID',
    JSON.stringify({ pods: [{ ...pod, pod: { metadata: {}, spec: {} } }] }),
    'it names no pods',
  ],
])('sets aside a file with %s', async (_what, text, reason) => {
  told.length = 0;
  await writeFile(path.join(dir, 'run-pods.json'), text);
  expect(await keeper().read()).toEqual([]);
  expect(told).toEqual([`set aside: ${reason}`]);
  expect((await readdir(dir)).join()).toMatch(/^run-pods\.json\.corrupt-/);
});

it('goes on where nothing can be written, and tells it', async () => {
  told.length = 0;
  await writeFile(path.join(dir, 'file'), '');
  await keeper(path.join(dir, 'file')).write([pod]);
  expect(told).toEqual(['failing: run-pods.json']);
});
