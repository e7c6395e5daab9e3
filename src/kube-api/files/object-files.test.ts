import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '../../async/index.js';
import { DurableFiles, linuxHost } from '../../host/index.js';
import type { KubeObject } from '../../kube/types/index.js';
import { resources } from '../../kube-client/resources.js';
import { Storage } from '../objects/storage.js';
import { ObjectFiles } from './object-files.js';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'objects-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

async function open(): Promise<{ storage: Storage; files: ObjectFiles }> {
  const observer = { setAside: () => undefined, failing: () => undefined, recovered: () => undefined };
  const durable = new DurableFiles({ files: linuxHost().files, clock: systemClock, observer });
  const storage = new Storage();
  const files = new ObjectFiles({
    dir,
    files: durable,
    clock: systemClock,
    kept: [resources.configMaps, resources.nodes],
    onFailure: (_file, error) => {
      throw error;
    },
  });
  await files.open(storage);
  return { storage, files };
}

const configMap = (
  name: string,
  data: Record<string, string>,
): KubeObject & { data: Record<string, string> } => ({
  metadata: { name, namespace: 'default', uid: `uid-of-${name}` },
  data,
});

async function stored(name: string, data: Record<string, string>): Promise<unknown> {
  const first = await open();
  first.storage.put(resources.configMaps, `default/${name}`, () => configMap(name, data));
  // What is settled is there for the next process, though this one never closes its files.
  await first.files.written(first.storage);
  const second = await open();
  return second.storage.get(resources.configMaps, `default/${name}`);
}

it.each([
  ['plain words', 'c', { a: 'b c', yes: 'no', '0': '1', empty: '' }],
  ['lines', 'c', { text: 'one\n  two\n\nthree\n', tail: 'no end', spaces: ' x \n y', tabs: '\tx\n' }],
  ['letters of all kinds', 'c', { x: '"quoted": #no {comment}\u0000\u2028\r\n', y: '日本', z: '🚀\nnext' }],
  ['words that look like numbers', 'c', { e8: 'E5', '1e3': '1e3', '.5': '.', _1: '0o7', x: '0x1f' }],
  ['a list that is deep', 'c', { text: JSON.stringify([[[[]]]]), more: '-\n- -\n' }],
  ['a key that is longer than YAML takes', 'c', { [`k${'x'.repeat(2000)}`]: 'v' }],
  ['a name that is longer than a file may have', `n${'x'.repeat(250)}`, { a: 'b' }],
  ['a name like a file that was set aside', 'db.corrupt-2', { a: 'b' }],
  ['names of methods', 'c', JSON.parse('{"__proto__":"p","constructor":"q","toString":"r"}')],
])('what is stored is read by the next process: %s', async (_what, name, data) => {
  expect(await stored(name, data)).toMatchObject({ metadata: { name }, data });
});

it('a removed object is gone, and versions never go back', async () => {
  const first = await open();
  first.storage.put(resources.configMaps, 'default/c', () => configMap('c', {}));
  first.storage.remove(resources.configMaps, 'default/c', configMap('c', {}));
  await first.files.written(first.storage);
  const second = await open();
  expect(second.storage.list(resources.configMaps)).toEqual([]);
  expect(second.storage.revision).toBeGreaterThan(first.storage.revision);
  expect(readdirSync(path.join(dir, 'core/configmaps/default'))).toEqual([]);
});

it('a status is written when the files are closed', async () => {
  const first = await open();
  const node = (status?: object): KubeObject => ({
    metadata: { name: 'n', uid: 'u' },
    ...(status === undefined ? {} : { status }),
  });
  first.storage.put(resources.nodes, 'n', () => node());
  first.storage.put(resources.nodes, 'n', () => node({ phase: 'x' }));
  await first.files.close();
  expect((await open()).storage.get(resources.nodes, 'n')).toMatchObject({ status: { phase: 'x' } });
});
