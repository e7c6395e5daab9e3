/** An agent that is killed while it mounts, refreshes and unmounts real volumes: the next one loses and leaks nothing. */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from './agent.js';
import { configMap, createVolumeNode, podWithVolumes, secret, type VolumeNode } from './volume-node.js';

let on: VolumeNode;
beforeAll(async () => {
  on = await createVolumeNode();
  await on.putObject('settings.json', configMap('settings', { a: '0', b: '0' }));
  await on.putObject('key.json', secret('key', { token: 'sesame-0815' }));
  await on.start();
});
afterAll(() => on.node.stop());

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const pod = (name: string) =>
  podWithVolumes(
    name,
    [
      { name: 'scratch', emptyDir: {} },
      { name: 'memory', emptyDir: { medium: 'Memory' } },
      { name: 'settings', configMap: { name: 'settings' } },
      { name: 'key', secret: { secretName: 'key' } },
      {
        name: 'all',
        projected: { sources: [{ configMap: { name: 'settings' } }, { secret: { name: 'key' } }] },
      },
    ],
    {
      volumeMounts: [
        ...['scratch', 'memory', 'settings', 'key', 'all'].map((name) => ({ name, mountPath: `/${name}` })),
        { name: 'scratch', mountPath: '/part', subPath: 'a/b' },
      ],
    },
    { terminationGracePeriodSeconds: 1 },
  );

/** Three volumes in memory and one subPath. */
const mountsOfPod = 4;

/** Every version of the settings has the same text in both files. */
async function expectWhole(): Promise<void> {
  for (const uid of await on.podDirectories()) {
    const data = path.join(on.node.root, 'pods', uid, 'volumes/kubernetes.io~configmap/settings/..data');
    const names = await readdir(data).catch(() => undefined);
    if (names === undefined) continue;
    expect(names.sort()).toEqual(['a', 'b']);
    const [a, b] = await Promise.all(['a', 'b'].map((name) => readFile(path.join(data, name), 'utf8')));
    expect(a).toBe(b);
  }
}

/** Looks as often as it can. */
async function busyUntil(condition: () => boolean): Promise<void> {
  const endMs = Date.now() + 30_000;
  while (!condition()) {
    if (Date.now() > endMs) throw new Error('it did not happen within 30 s');
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

async function killAfter(delayMs: number): Promise<void> {
  await pause(delayMs);
  await on.node.kill('SIGKILL');
  await expectWhole();
}

/** Its containers are gone, so that nobody reads what is being taken away. */
async function killWhileRemoving(delayMs: number): Promise<void> {
  await pause(delayMs);
  await on.node.kill('SIGKILL');
}

describe('an agent that is killed', () => {
  // The agent looks at its directories at once; mounting takes it some tens of milliseconds.
  it.each([60, 120, 180, 250])('%i ms after a pod came', async (delayMs) => {
    const name = `came-${delayMs}`;
    await on.node.apply(`${name}.yaml`, pod(name));
    await killAfter(delayMs);
    await on.start();
    await on.node.untilReady(name, 30_000);
    expect(on.podMounts()).toHaveLength(mountsOfPod);
    expect(await on.inside(name, 'cat /key/token; ls -A /key | grep -c "^\\.\\.20"')).toBe('sesame-08151');
    await on.removeWholly(name);
  });

  it.each([60, 120, 180])('%i ms after an object changed', async (delayMs) => {
    const name = `changed-${delayMs}`;
    await on.node.apply(`${name}.yaml`, pod(name));
    await on.node.untilReady(name, 30_000);
    const [id] = await on.node.running(name);
    const text = String(delayMs);
    await on.putObject('settings.json', configMap('settings', { a: text, b: text }));
    await killAfter(delayMs);
    expect(await on.inside(name, 'cat /key/token')).toBe('sesame-0815');
    await on.start();
    await on.node.untilReady(name, 30_000);
    await eventually(
      'the new version is there',
      async () => (await on.inside(name, 'cat /settings/a /all/b')) === text + text,
      20_000,
    );
    expect(await on.inside(name, 'ls -A /settings | grep -c "^\\.\\.20"')).toBe('1');
    expect(await on.node.running(name)).toEqual([id]);
    expect(on.podMounts()).toHaveLength(mountsOfPod);
    await on.removeWholly(name);
  });

  it.each([60, 700, 1200, 1300, 1400])('%i ms after a pod was removed', async (delayMs) => {
    const name = `removed-${delayMs}`;
    await on.node.apply(`${name}.yaml`, pod(name));
    await on.node.untilReady(name, 30_000);
    const uid = await on.uidOf(name);
    await on.node.remove(`${name}.yaml`);
    await killWhileRemoving(delayMs);
    await on.start();
    await on.node.untilGone(name);
    await eventually(
      'nothing is left',
      async () => on.podMounts().length === 0 && !(await on.podDirectories()).includes(uid),
      30_000,
    ).catch((error: unknown) => {
      throw new Error(`${String(error)}\n${on.podMounts().join('\n')}\n${on.node.log.slice(-3000)}`);
    });
  });

  it.each([
    { at: 'the first mount', mounts: 1 },
    { at: 'the second mount', mounts: 2 },
    { at: 'the third mount', mounts: 3 },
  ])('at $at, and at the same number when it unmounts', async ({ mounts }) => {
    const name = `mount-${mounts}`;
    await on.node.apply(`${name}.yaml`, pod(name));
    await busyUntil(() => on.podMounts().length >= mounts);
    await killAfter(0);
    await on.start();
    await on.node.untilReady(name, 30_000);
    expect(on.podMounts()).toHaveLength(mountsOfPod);
    const uid = await on.uidOf(name);
    await on.node.remove(`${name}.yaml`);
    await busyUntil(() => on.podMounts().length <= mounts);
    await killWhileRemoving(0);
    await on.start();
    await eventually(
      'nothing is left',
      async () => on.podMounts().length === 0 && !(await on.podDirectories()).includes(uid),
      30_000,
    );
  });

  it('has told nobody of the secret', () => {
    expect(on.node.log).not.toContain('sesame-0815');
  });
});
