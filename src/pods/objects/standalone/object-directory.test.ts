import { mkdtemp, rename, rm, unlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../../async/index.js';
import type { Pod } from '../../../kube/index.js';
import { Timeline } from '../../../timeline/index.js';
import { ObjectDirectory } from './object-directory.js';
import { StandaloneObjects } from './standalone-objects.js';

const pod: Pod = {
  metadata: { name: 'a', namespace: 'default', uid: 'u' },
  spec: {
    containers: [],
    volumes: [
      { name: 'c', configMap: { name: 'settings' } },
      { name: 's', secret: { secretName: 'keys' } },
    ],
  },
};
const settings = (value: string) =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {k: "${value}"}\n`;

let dir: string;
let store: StandaloneObjects;
let timeline: Timeline;
let stop: AbortController;
let running: Promise<unknown> | undefined;

beforeEach(async () => {
  dir = await mkdtemp(path.join(os.tmpdir(), 'nodelet-objects-'));
  store = new StandaloneObjects({ clock: systemClock, waits: true });
  store.registerPod(pod);
  timeline = new Timeline({ clock: systemClock });
  stop = new AbortController();
});

afterEach(async () => {
  stop.abort();
  await running;
  await rm(dir, { recursive: true });
});

function start(place = dir, directoryLimitBytes?: number): void {
  const options = { path: place, clock: systemClock, timeline, objects: store, checkPeriodMs: 200 };
  const source = new ObjectDirectory({
    ...options,
    ...(directoryLimitBytes === undefined ? {} : { directoryLimitBytes }),
  });
  running = source.run(stop.signal).catch(() => {});
}

const put = (name: string, text: string) => writeFile(path.join(dir, name), text);
const value = async () => (await store.configMap('default', 'settings')).data?.k;
const messages = () =>
  timeline
    .ofNode()
    .map(({ message }) => message)
    .join('\n');

describe('object directory', () => {
  it('is read before the first object read resolves', async () => {
    await put('a.yaml', settings('1'));
    start();
    expect(await value()).toBe('1');
  });

  it('shows changes, new and removed files', async () => {
    await put('a.yaml', settings('1'));
    start();
    await value();
    await put('.tmp', settings('2'));
    await rename(path.join(dir, '.tmp'), path.join(dir, 'a.yaml'));
    await vi.waitFor(async () => expect(await value()).toBe('2'));
    await put('b.yaml', 'apiVersion: v1\nkind: Secret\nmetadata: {name: keys}\nstringData: {a: b}\n');
    await vi.waitFor(async () => expect((await store.secret('default', 'keys')).data).toEqual({ a: 'Yg==' }));
    await unlink(path.join(dir, 'a.yaml'));
    await vi.waitFor(() => expect(value()).rejects.toThrow('configmap "settings" not found'));
    expect(messages()).not.toContain('Yg==');
  });

  it('keeps a file’s earlier objects while it is invalid, and reads the others', async () => {
    await put('a.yaml', settings('1'));
    start();
    await value();
    await put('a.yaml', `${settings('2')}immutable: maybe\n`);
    await put('b.yaml', 'apiVersion: v1\nkind: Secret\nmetadata: {name: keys}\n');
    await vi.waitFor(() => store.secret('default', 'keys'));
    expect(await value()).toBe('1');
    expect(messages()).toContain(`${dir}/a.yaml:5:1: immutable: expected true or false, found a string`);
    await put('a.yaml', settings('3'));
    await vi.waitFor(async () => expect(await value()).toBe('3'));
    expect(messages()).toContain(`${dir}/a.yaml works again`);
  });

  it('reports objects that two files define; the file that sorts last wins', async () => {
    await put('a.yaml', settings('1'));
    await put('b.yaml', settings('2'));
    start();
    expect(await value()).toBe('2');
    await vi.waitFor(() =>
      expect(messages()).toContain(
        `${dir}/a.yaml: ConfigMap default/settings is also defined by ${dir}/b.yaml`,
      ),
    );
  });

  it('may be a single file, and may appear later', async () => {
    start(path.join(dir, 'a.yaml'));
    await expect(value()).rejects.toThrow('configmap "settings" not found');
    await put('a.yaml', settings('1'));
    await vi.waitFor(async () => expect(await value()).toBe('1'), { timeout: 5_000 });
  });

  it('has a size limit', async () => {
    await put('a.yaml', settings('1'));
    await put('b.yaml', settings('2'.repeat(1000)));
    start(dir, 500);
    expect(await value()).toBe('1');
    await vi.waitFor(() => expect(messages()).toContain('have more than 500 bytes; remove some'));
  });
});
