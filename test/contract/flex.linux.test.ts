/** Holds flexVolume volumes against a real driver: a program that mounts, and one that misbehaves. */
import { chmod, chown, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/async/index.js';
import { isMountPoint, linuxHost } from '../../src/host/index.js';
import type { Pod } from '../../src/kube/index.js';
import type { VolumePlugin, VolumeSpec } from '../../src/volumes/contracts.js';
import { flexPrograms, flexVolumes } from '../../src/volumes/plugins/flex/index.js';
import { createTempDir, type TempDir } from '../env/index.js';

const host = linuxHost();
const signal = new AbortController().signal;
/** No text. */
const keytab = Buffer.from([5, 2, 0xff, 0xfe, 0]);
let secretType: string;
let temp: TempDir;
let plugin: VolumePlugin;
const at = (...parts: string[]): string => path.join(temp.path, ...parts);

const runDriver = flexPrograms(systemClock);
const newPlugin = (run = runDriver): VolumePlugin =>
  flexVolumes({
    host,
    clock: systemClock,
    rootDir: at('root'),
    directory: at('exec'),
    run,
    readSecret: async (namespace, name) => {
      if (name !== 'key') throw new Error(`secrets "${name}" not found`);
      const data = {
        word: Buffer.from(`${namespace}-word`).toString('base64'),
        keytab: keytab.toString('base64'),
      };
      return { metadata: {}, type: secretType, data };
    },
  });

beforeEach(async () => {
  temp = await createTempDir('flex');
  const driver = at('exec/example~bind/bind');
  await mkdir(path.dirname(driver), { recursive: true });
  const script = await readFile(path.join(import.meta.dirname, '../env/flex-driver.mjs'), 'utf8');
  // The name of the file has no ending, by which Node would know a module.
  await writeFile(at('exec/example~bind/package.json'), '{"type":"module"}');
  await writeFile(driver, `#!${process.execPath}\n${script}`);
  await chmod(driver, 0o755);
  await mkdir(at('data'));
  await writeFile(at('data/file'), 'kept');
  secretType = 'example/bind';
  plugin = newPlugin();
});
afterEach(async () => {
  await order({});
  await plugin.tearDown(remains).catch(() => undefined);
  await temp.remove();
});

const pod: Pod = {
  metadata: { uid: 'u', name: 'p', namespace: 'shop' },
  spec: { containers: [], serviceAccountName: 'clerk', securityContext: { fsGroup: 7 } },
};
const remains = { podUid: 'u', innerName: 'v' };
const volume = (more: object = {}): VolumeSpec => ({
  kind: 'inline',
  volume: { name: 'v', flexVolume: { driver: 'example/bind', options: { source: at('data') }, ...more } },
});
const target = (): string => at('root/pods/u/volumes/kubernetes.io~flexvolume/v');
const setUp = (spec = volume()): Promise<void> => plugin.setUp({ pod, spec, isRemount: false, signal });
const order = (orders: object): Promise<void> =>
  writeFile(at('exec/example~bind/orders.json'), JSON.stringify(orders));
const calls = async (): Promise<string[][]> =>
  (await readFile(at('exec/example~bind/calls.jsonl'), 'utf8').catch(() => ''))
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
const names = async (): Promise<string[]> => (await calls()).map(([name = '']) => name);

describe('a flexVolume', () => {
  it('is mounted by its driver, which is told of volume, pod and secret, and unmounted', async () => {
    await setUp(volume({ fsType: 'ext4', secretRef: { name: 'key' } }));
    expect(await readFile(path.join(target(), 'file'), 'utf8')).toBe('kept');
    expect((await host.files.stat(target())).gid).toBe(7);
    const [, mount = []] = await calls();
    expect(mount.slice(0, 2)).toEqual(['mount', target()]);
    expect(JSON.parse(mount[2] ?? '')).toEqual({
      source: at('data'),
      'kubernetes.io/fsType': 'ext4',
      'kubernetes.io/readwrite': 'rw',
      'kubernetes.io/pvOrVolumeName': 'v',
      'kubernetes.io/pod.name': 'p',
      'kubernetes.io/pod.namespace': 'shop',
      'kubernetes.io/pod.uid': 'u',
      'kubernetes.io/serviceAccount.name': 'clerk',
      'kubernetes.io/mounterArgs.FsGroup': '7',
      'kubernetes.io/secret/word': Buffer.from('shop-word').toString('base64'),
      'kubernetes.io/secret/keytab': keytab.toString('base64'),
    });
    await setUp();
    expect(await names()).toEqual(['init', 'mount']);
    await plugin.tearDown(remains);
    await plugin.tearDown(remains);
    expect(await names()).toEqual(['init', 'mount', 'unmount']);
    await expect(host.files.lstat(target())).rejects.toThrow('ENOENT');
    expect(await readFile(at('data/file'), 'utf8')).toBe('kept');
  });

  it('is taken down after a restart by the driver that mounted it', async () => {
    await setUp();
    plugin = newPlugin();
    await plugin.tearDown(remains);
    expect(await names()).toEqual(['init', 'mount', 'unmount']);
    expect(await isMountPoint(host, target()).catch(() => false)).toBe(false);
  });

  it('is unmounted by the node if its driver leaves that to it', async () => {
    await setUp();
    await order({ unmount: { does: 'says', text: '{"status":"Not supported"}', exitCode: 1 } });
    await plugin.tearDown(remains);
    await expect(host.files.lstat(target())).rejects.toThrow('ENOENT');
  });

  it('stays while its driver fails to unmount it', async () => {
    await setUp();
    await order({ unmount: { does: 'says', text: '{"status":"Failure","message":"busy"}', exitCode: 1 } });
    await expect(plugin.tearDown(remains)).rejects.toThrow('example/bind failed to unmount: busy');
    expect(await isMountPoint(host, target())).toBe(true);
  });

  it('waits for its secret, and nothing is mounted', async () => {
    await expect(setUp(volume({ secretRef: { name: 'none' } }))).rejects.toMatchObject({
      failureClass: 'transient',
      message: expect.stringContaining('cannot read the secret shop/none'),
    });
    expect(await names()).toEqual(['init']);
  });

  it('gets no secret that is not of the type of its driver', async () => {
    secretType = 'Opaque';
    await expect(setUp(volume({ secretRef: { name: 'key' } }))).rejects.toMatchObject({
      failureClass: 'transient',
      message: expect.stringContaining('its type is "Opaque", not "example/bind"'),
    });
    expect(await names()).toEqual(['init']);
  });

  const word = Buffer.from('shop-word').toString('base64');
  it.each([
    ['in no JSON', `+ mount {"kubernetes.io/secret/word":"${word}"} shop-word`],
    ['in its answer', `{"status":"Failure","message":"bad password shop-word (${word})"}`],
  ])('shows nobody the secret that its driver repeats %s', async (_, text) => {
    await order({ mount: { does: 'says', text, exitCode: 1 } });
    const failure = await setUp(volume({ secretRef: { name: 'key' } })).catch(
      (error: Error) => error.message,
    );
    expect(failure).toContain('<secret>');
    expect(failure).not.toContain('shop-word');
    expect(failure).not.toContain(word);
  });

  it('is given to the group of its pod by a run after one that ended too early', async () => {
    const stopping = new AbortController();
    plugin = newPlugin(async (executable, words, ...rest) => {
      const end = await runDriver(executable, words, ...rest);
      if (words[0] === 'mount') stopping.abort();
      return end;
    });
    const request = { pod, spec: volume(), isRemount: false, signal: stopping.signal };
    await expect(plugin.setUp(request)).rejects.toThrow('context canceled');
    expect((await host.files.stat(target())).gid).not.toBe(7);
    plugin = newPlugin();
    await setUp();
    expect(await names()).toEqual(['init', 'mount', 'init']);
    expect((await host.files.stat(target())).gid).toBe(7);
    // Not again: containers may have changed it on purpose.
    await chown(target(), 0, 9);
    plugin = newPlugin();
    await setUp();
    expect((await host.files.stat(target())).gid).toBe(9);
  });

  it('can have its driver replaced by one that needs no attaching', async () => {
    await order({ init: { does: 'says', text: '{"status":"Success"}' } });
    await expect(setUp()).rejects.toThrow('wants its volumes attached');
    await order({});
    await setUp();
    expect(await names()).toEqual(['init', 'init', 'mount']);
  });

  it('is not relabelled if its driver says so, also after a restart', async () => {
    const capabilities = { attach: false, selinuxRelabel: false };
    await order({ init: { does: 'says', text: JSON.stringify({ status: 'Success', capabilities }) } });
    await setUp();
    expect(plugin.traits(volume()).relabel).toBe(false);
    plugin = newPlugin();
    await setUp();
    expect(plugin.traits(volume()).relabel).toBe(false);
  });

  it('stays usable after a restart while its driver is broken', async () => {
    await setUp();
    plugin = newPlugin();
    await order({ init: { does: 'says', text: 'broken', exitCode: 1 } });
    await setUp();
    expect(plugin.traits(volume()).relabel).toBe(true);
  });

  it.each<[string, object, string, string]>([
    ['is not there', { driver: 'example/none' }, 'transient', 'ENOENT'],
    [
      'has a large secret or options',
      { options: { a: 'x'.repeat(70_000) } },
      'transient',
      'more than 65536 bytes',
    ],
  ])('whose driver %s waits', async (_, more, failureClass, text) => {
    await expect(setUp(volume(more))).rejects.toMatchObject({
      failureClass,
      message: expect.stringContaining(text),
    });
  });

  it.each<[string, object, string, string]>([
    [
      'wants attaching',
      { init: { does: 'says', text: '{"status":"Success"}' } },
      'transient',
      'wants its volumes attached',
    ],
    [
      'says nothing',
      { mount: { does: 'says', text: '' } },
      'uncertain',
      'its answer is no JSON (exit code 0)',
    ],
    ['says a list', { mount: { does: 'says', text: '[]' } }, 'uncertain', 'its answer is no JSON'],
    ['says too much', { mount: { does: 'floods', bytes: 10_000_000 } }, 'uncertain', 'failed to mount: '],
    [
      'says success and fails',
      { mount: { does: 'says', text: '{"status":"Success"}', exitCode: 3 } },
      'uncertain',
      'it ended with 3',
    ],
    [
      'cannot mount',
      { mount: { does: 'says', text: '{"status":"Not supported"}', exitCode: 1 } },
      'uncertain',
      'does not support that',
    ],
  ])('whose driver %s waits, and goes when its pod goes', async (_, orders, failureClass, text) => {
    await order(orders);
    const failure = await setUp().then(
      () => undefined,
      (error: Error) => error,
    );
    expect(failure).toMatchObject({ failureClass, message: expect.stringContaining(text) });
    expect(failure?.message.length).toBeLessThan(2000);
    await order({ unmount: { does: 'says', text: '{"status":"Success"}' } });
    await plugin.tearDown(remains);
    await expect(host.files.lstat(target())).rejects.toThrow('ENOENT');
  });

  it.each(['', '../x', 'a/../b', 'a/b/c', '/bin/sh', '-x', 'a b', 'a'.repeat(300)])(
    'cannot have a driver named %j',
    (driver) => expect(plugin.problem?.(volume({ driver }))).toContain('flexVolume.driver'),
  );
});
